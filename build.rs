//! Links the release build at a fixed address: a process that lives for two milliseconds should not
//! spend a third of one on relocating itself. `EDT_FUNCTION_ORDER` names a file with the functions
//! that come first, which `cargo xtask dist` writes: what an edit calls then lies on few pages.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=EDT_FUNCTION_ORDER");
    if let Ok(order) = std::env::var("EDT_FUNCTION_ORDER") {
        println!("cargo::rerun-if-changed={order}");
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={order}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
    let of = |key: &str| std::env::var(key).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux"
        && of("CARGO_CFG_TARGET_ENV") == "gnu"
        && of("PROFILE") == "release"
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,lazy");
    }
}
