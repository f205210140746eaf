//! The built `berth`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The path of the built `berth`.
///
/// Cargo names it to the integration tests that it runs. A test that is started without cargo finds it where cargo builds
/// it: in the folder above the test's own.
///
/// # Panics
/// It was not built.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let named = std::env::var_os("CARGO_BIN_EXE_berth").map(PathBuf::from);
        let built = || {
            let test = std::env::current_exe().unwrap();
            test.ancestors().nth(2).unwrap().join("berth")
        };
        let program = named.unwrap_or_else(built);
        assert!(program.exists(), "{} is not built", program.display());
        program
    });
    &PROGRAM
}

/// `berth` with these arguments, without the user's settings.
pub fn berth(args: &[&str]) -> Command {
    command(program(), args)
}

/// As [`berth`], by another build of it.
pub(crate) fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("KUBECONFIG")
        .env("NO_COLOR", "1");
    command
}
