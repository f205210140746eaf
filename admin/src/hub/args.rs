//! Flags that select the hub and the user, with kubectl's names and meanings.

use std::path::PathBuf;
use std::time::Duration;

use berth_api::names;
use clap_complete::engine::ArgValueCandidates;
use jiff::SignedDuration;

use crate::complete;

/// Flags of every command that connects to a hub.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "The hub")]
pub struct HubArgs {
    /// Kubeconfig of the hub
    /// [default: the files of $KUBECONFIG, else ~/.kube/config, else the cluster that this runs in]
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", global = true, add = ArgValueCandidates::new(complete::contexts))]
    pub(super) context: Option<String>,
    /// User to impersonate
    #[arg(long = "as", value_name = "USER", global = true)]
    pub(super) as_user: Option<String>,
    /// Group to impersonate, with --as (repeatable)
    #[arg(long = "as-group", value_name = "GROUP", global = true)]
    pub(super) as_groups: Vec<String>,
    /// Timeout of a request to the hub, such as 10s or 1m; 0 means no timeout [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = wait, global = true)]
    pub(super) request_timeout: Option<Wait>,
}

/// The same flags, for commands that a cluster's admin runs at the managed cluster.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "The managed cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig of the managed cluster
    /// [default: the files of $KUBECONFIG, else ~/.kube/config, else the cluster that this runs in]
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", global = true, add = ArgValueCandidates::new(complete::contexts))]
    context: Option<String>,
    /// User to impersonate
    #[arg(long = "as", value_name = "USER", global = true)]
    as_user: Option<String>,
    /// Group to impersonate, with --as (repeatable)
    #[arg(long = "as-group", value_name = "GROUP", global = true)]
    as_groups: Vec<String>,
    /// Timeout of a request, such as 10s or 1m; 0 means no timeout [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = wait, global = true)]
    pub(crate) request_timeout: Option<Wait>,
}

/// A timeout. It is at most a year, which stands for no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Duration);

const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a timeout as kubectl does: a duration with units, or a number of seconds; 0 means no timeout.
pub(crate) fn wait(text: &str) -> Result<Wait, String> {
    let duration = match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => text
            .parse::<SignedDuration>()
            .ok()
            .and_then(|duration| Duration::try_from(duration).ok()),
    };
    match duration {
        None => Err("not a duration such as 500ms, 10s, 1m or 0".to_owned()),
        Some(Duration::ZERO) => Ok(Wait(FOR_EVER)),
        Some(duration) => Ok(Wait(duration.min(FOR_EVER))),
    }
}

/// Parses the name of a namespace.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    match names::dns1123_label(text).first() {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.clone()),
    }
}

/// Parses NAMESPACE/NAME, with a name that is a DNS subdomain.
pub(crate) fn namespaced(text: &str) -> Result<(String, String), String> {
    let (space, name) = text
        .split_once('/')
        .ok_or("it is not of the form NAMESPACE/NAME")?;
    let space = namespace(space)?;
    match names::dns1123_subdomain(name).first() {
        None => Ok((space, name.to_owned())),
        Some(why) => Err(why.clone()),
    }
}

// === impl HubArgs ===

impl HubArgs {
    /// Returns the user of `--as` and the groups of `--as-group`.
    pub(crate) fn acting_as(&self) -> Option<(&str, &[String])> {
        Some((self.as_user.as_deref()?, &self.as_groups))
    }

    /// Creates the arguments from values.
    pub(crate) fn new(
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        as_user: Option<String>,
        as_groups: Vec<String>,
        request_timeout: Wait,
    ) -> Self {
        Self {
            kubeconfig,
            context,
            as_user,
            as_groups,
            request_timeout: Some(request_timeout),
        }
    }

    /// Returns true if any of the flags is set.
    pub fn any(&self) -> bool {
        let Self {
            kubeconfig,
            context,
            as_user,
            as_groups,
            request_timeout,
        } = self;
        kubeconfig.is_some()
            || context.is_some()
            || as_user.is_some()
            || !as_groups.is_empty()
            || request_timeout.is_some()
    }
}

impl From<ClusterArgs> for HubArgs {
    fn from(args: ClusterArgs) -> Self {
        Self {
            kubeconfig: args.kubeconfig,
            context: args.context,
            as_user: args.as_user,
            as_groups: args.as_groups,
            request_timeout: args.request_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_kubectls() {
        let seconds = |text| wait(text).unwrap().0.as_secs_f64();
        assert_eq!(seconds("10"), 10.0);
        assert_eq!(seconds("1m30s"), 90.0);
        assert_eq!(seconds("500ms"), 0.5);
        assert_eq!(wait("0").unwrap().0, FOR_EVER);
        assert_eq!(wait("0s").unwrap().0, FOR_EVER);
        assert_eq!(wait("99999999999999999999h").ok(), None);
        for wrong in ["", "-1s", "soon", "10 parsecs"] {
            assert!(wait(wrong).is_err(), "{wrong}");
        }
    }
}
