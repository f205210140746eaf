//! `docs/commands.md`: the help of the built binary.

use std::process::Command;

/// The page.
pub(crate) fn page() -> String {
    let mut page = "<!-- Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated -->\n\
                    # Commands\n"
        .to_owned();
    for command in [
        "",
        "demo",
        "hub",
        "webhook-server",
        "controller",
        "agent",
        "agent status",
        "placement controller",
        "placement debug",
        "placement explain",
        "placement what-if",
        "work diff",
        "work manager",
        "work render",
        "get",
        "get clusters",
        "get clustersets",
        "get bindings",
        "get placements",
        "get works",
        "get token",
        "accept",
        "deny",
        "create clusterset",
        "create placement",
        "create work",
        "delete cluster",
        "delete clusterset",
        "clusterset set",
        "clusterset bind",
        "clusterset unbind",
        "can-i",
        "doctor",
        "join",
        "unjoin",
        "review",
        "policies",
        "completion",
    ] {
        let mut berth = Command::new(berth_testkit::program());
        berth
            .args(command.split_whitespace())
            .arg("--help")
            .env("COLUMNS", "100");
        let output = berth.output().unwrap();
        assert!(output.status.success(), "{command}");
        let help = String::from_utf8(output.stdout).unwrap();
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        let title = if command.is_empty() {
            "berth".to_owned()
        } else {
            format!("berth {command}")
        };
        page.push_str(&format!(
            "\n## {title}\n\n```\n{}\n```\n",
            help.join("\n").trim_end()
        ));
    }
    page
}
