//! The program is linked at a fixed address: a process that lives for two milliseconds should not spend a third of one on
//! relocating itself.

fn main() {
    let of = |key: &str| std::env::var(key).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" && of("PROFILE") == "release" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,lazy");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
