//! Lines that run in a shell as they are printed.

use std::process::Command;

use berth_testkit::cluster::Person;

/// A shell that runs a line; `berth` and kubectl speak to this person's hub, unless these variables say otherwise.
pub fn shell(person: &Person, variables: &[(String, String)], line: &str) -> Command {
    let berth = berth_testkit::program().parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    for (name, value) in person.kubectl_command(&[]).get_envs() {
        shell.envs(value.map(|value| (name, value)));
    }
    shell
        .args(["-c", line])
        .env("PATH", format!("{}:{path}", berth.display()))
        .env("NO_COLOR", "1")
        .envs(variables.iter().map(|(name, value)| (name, value)));
    shell
}
