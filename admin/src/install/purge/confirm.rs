//! The name of a hub, which a user types before all of it is deleted.

use std::io::{self, Write};

use berth_hub::{cluster_of_context, server_address};
use http::Uri;

use super::fleet::FleetKind;
use crate::ask::{can_ask, typed};
use crate::failure::CommandError;
use crate::hub::{HubArgs, HubConnection};

/// Returns the name of the hub: the cluster of the kubeconfig's context, or else the host of the API server.
///
/// # Errors
/// No kubeconfig was found, or it cannot be used.
pub(super) fn name(args: &HubArgs) -> Result<String, CommandError> {
    let access = args.access();
    if let Some(name) = cluster_of_context(&access) {
        return Ok(name);
    }
    let address = server_address(&access).map_err(|it| CommandError::Config(it.to_string()))?;
    let host = address.url.parse::<Uri>().ok();
    let host = host.as_ref().and_then(Uri::host).map(str::to_owned);
    Ok(host.unwrap_or(address.url))
}

/// Checks what `--confirm` says, before a hub is contacted.
///
/// # Errors
/// What is wrong about the command line. Nothing may be deleted.
pub(super) fn check(confirm: Option<&str>, name: &str) -> Result<(), String> {
    judge(confirm, name, can_ask())
}

fn judge(confirm: Option<&str>, name: &str, can_ask: bool) -> Result<(), String> {
    match confirm {
        Some(confirm) if confirm == name => Ok(()),
        Some(confirm) => Err(format!(
            "--confirm {confirm:?} is not the name of this hub; to delete all of it, use --confirm {name:?}"
        )),
        None if can_ask => Ok(()),
        None => Err(format!(
            "--purge deletes the clusters, too; without a terminal to type the name of the hub at, add --confirm {name:?}; \
             --dry-run shows what it deletes"
        )),
    }
}

/// Shows what will be lost, and asks for the name of the hub at the terminal.
///
/// # Errors
/// The terminal cannot be used.
pub(super) fn asked(
    hub: &HubConnection,
    counts: &[(&FleetKind, usize)],
    name: &str,
) -> io::Result<bool> {
    let mut text = format!("This deletes from the hub at {}:\n", hub.server());
    for (kind, count) in counts {
        text.push_str(&format!("  {count} {}s\n", kind.kind));
    }
    text.push_str(
        "  with their CustomResourceDefinitions, the rights of bootstrap tokens, and Berth\n\
         What ManifestWorks deployed on managed clusters is deleted there. This cannot be undone.\n",
    );
    io::stderr().write_all(text.as_bytes())?;
    Ok(typed(&format!("Type the name of the hub ({name}):"))? == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_name_is_the_name() {
        assert_eq!(judge(Some("prod"), "prod", false), Ok(()));
        assert_eq!(judge(None, "prod", true), Ok(()));
        for confirm in ["Prod", "prod ", "", "yes", "pro"] {
            for can_ask in [false, true] {
                let why = judge(Some(confirm), "prod", can_ask).unwrap_err();
                assert!(why.ends_with("use --confirm \"prod\""), "{why}");
            }
        }
        let why = judge(None, "prod", false).unwrap_err();
        assert!(why.contains("add --confirm \"prod\""), "{why}");
    }
}
