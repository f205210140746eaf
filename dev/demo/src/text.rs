//! The output of the demo.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use crate::managed::Servers;
use crate::users::USERS;

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

/// Standard output; in colour on a terminal.
pub(super) struct Screen {
    colours: bool,
}

impl Screen {
    pub(super) fn stdout() -> Self {
        let refuses = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colours: io::stdout().is_terminal() && !refuses,
        }
    }

    pub(super) fn say(&self, text: &str) -> io::Result<()> {
        self.line("", text)
    }

    pub(super) fn story(&self, number: usize, text: &str) -> io::Result<()> {
        self.line("", &format!("{number}. {text}"))
    }

    pub(super) fn command(&self, command: &str) -> io::Result<()> {
        self.line(BOLD, &format!("   $ {command}"))
    }

    pub(super) fn warnings(&self, warnings: &[String]) -> io::Result<()> {
        for warning in warnings {
            self.line(YELLOW, &format!("   Warning: {warning}"))?;
        }
        Ok(())
    }

    pub(super) fn done(&self, result: &str) -> io::Result<()> {
        // An empty line has no spaces.
        self.line(GREEN, format!("   {result}").trim_end())
    }

    /// A field of the object as it is now.
    pub(super) fn field(&self, pointer: &str, value: &Value) -> io::Result<()> {
        let path = pointer.replace('/', ".");
        self.line("", &format!("   {path}: {value}"))
    }

    pub(super) fn refused(&self, message: &str) -> io::Result<()> {
        for line in message.lines() {
            self.line(RED, &format!("   {line}"))?;
        }
        Ok(())
    }

    fn line(&self, colour: &str, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.colours && !colour.is_empty() {
            writeln!(out, "{colour}{text}{PLAIN}")
        } else {
            writeln!(out, "{text}")
        }
    }
}

/// These names as words, such as "c1, c2 and c3".
fn and(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

/// Prints commands to try next.
pub(super) fn look_around(
    screen: &Screen,
    folder: &Path,
    metrics: SocketAddr,
    managed: &Servers,
) -> io::Result<()> {
    let names: Vec<_> = managed.all().iter().map(|(name, _)| *name).collect();
    screen.say(&format!(
        "\nThe hub, {} run until Ctrl-C. In another terminal:\n",
        and(&names)
    ))?;
    screen.say(&format!("  cd {}", folder.display()))?;
    screen.say("  export KUBECONFIG=$PWD/kubeconfig")?;
    screen.say("  kubectl get managedclusters,managedclustersets")?;
    screen.say("  kubectl get managedclustersetbindings -A")?;
    screen.say("  kubectl --context dev patch managedcluster c1 --type=merge -p '{\"spec\":{\"hubAcceptsClient\":false}}'")?;
    screen.say(
        "  kubectl --context sam auth can-i create managedclustersets/prod --subresource=join",
    )?;
    screen.say("  kubectl --context c1 get clusterclaims,namespaces")?;
    screen.say("  kubectl get managedclusters --watch")?;
    screen.say("  berth console --context dev")?;
    screen.say(&format!("  curl http://{metrics}/metrics"))?;
    screen.say("\nThe users, each with a context of this name:\n")?;
    for (name, groups, what) in USERS {
        screen.say(&format!("  {name:<5} {what} (group {})", groups.join(", ")))?;
    }
    for name in names {
        screen.say(&format!(
            "  {name:<5} admin of the managed cluster {name} (group system:masters there)"
        ))?;
    }
    screen.say("")
}
