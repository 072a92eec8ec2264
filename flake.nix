{
  description = "Git-native edit transactions for AI coding agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = nixpkgs.lib.genAttrs systems;
      about = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package;
    in
    {
      packages = each (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "edt";
            inherit (about) version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            cargoBuildFlags = [ "-p" "edt-cli" ];
            # The tests need strace, namespaces and a home of their own: `.ci/run` runs them.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              $out/bin/edt man > edt.1
              installManPage edt.1
              for shell in bash zsh fish; do
                $out/bin/edt completions $shell > edt.$shell
                installShellCompletion --cmd edt --$shell edt.$shell
              done
            '';
            meta = {
              description = "Git-native edit transactions for AI coding agents";
              homepage = about.repository;
              license = with pkgs.lib.licenses; [ mit asl20 ];
              mainProgram = "edt";
              platforms = systems;
            };
          };
        }
      );
      devShells = each (system: {
        default = nixpkgs.legacyPackages.${system}.mkShell {
          inputsFrom = [ self.packages.${system}.default ];
          packages = with nixpkgs.legacyPackages.${system}; [ cargo-nextest strace valgrind bubblewrap ];
        };
      });
    };
}
