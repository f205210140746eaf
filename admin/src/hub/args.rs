//! Flags that select the hub and the user, with kubectl's names and meanings.

use std::path::PathBuf;
use std::time::Duration;

use berth_api::names;
use berth_hub::{Access, ActAs, Overrides, namespace_of_context};
use clap_complete::engine::ArgValueCandidates;
use jiff::SignedDuration;

use crate::complete;
use crate::failure::CommandError;
use crate::join::token::Token;

/// The namespace, if neither a flag nor the context names one.
const DEFAULT_NAMESPACE: &str = "default";

/// Flags of every command that connects to a hub.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "The hub")]
pub struct HubArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// The same flags, for commands that a cluster's admin runs at the managed cluster.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "The managed cluster")]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
}

/// Flags that select an API server and a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(super) struct ConnectionArgs {
    /// Kubeconfig
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
    /// Timeout of a request, such as 10s or 1m; 0 means no timeout [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = wait, global = true)]
    pub(super) request_timeout: Option<Wait>,
    // Seldom used, and large.
    #[command(flatten)]
    overrides: Box<OverrideArgs>,
}

/// Flags that win over values of the kubeconfig. `berth options` shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
struct OverrideArgs {
    /// URL of the API server
    #[arg(short = 's', long, value_name = "URL", global = true, hide = true)]
    server: Option<String>,
    /// Name that the API server's certificate has to have
    #[arg(long, value_name = "NAME", global = true, hide = true)]
    tls_server_name: Option<String>,
    /// File with the CA of the API server, PEM
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    certificate_authority: Option<PathBuf>,
    /// Do not verify the API server's certificate. Others can read and change what you send
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "true|false", default_missing_value = "true", global = true, hide = true)]
    insecure_skip_tls_verify: Option<bool>,
    /// User of the kubeconfig
    #[arg(long, value_name = "NAME", global = true, hide = true)]
    user: Option<String>,
    /// Bearer token
    #[arg(long, value_name = "TOKEN", global = true, hide = true)]
    token: Option<Token>,
    /// File with a client certificate, PEM
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    client_certificate: Option<PathBuf>,
    /// File with the key of the client certificate, PEM
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    client_key: Option<PathBuf>,
    /// UID to impersonate, with --as
    #[arg(long, value_name = "UID", global = true, hide = true)]
    as_uid: Option<String>,
}

/// The flag of commands whose objects are in one namespace.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespaceArgs {
    /// Namespace [default: that of the kubeconfig's context, else default]
    #[arg(
        id = "namespace",
        short = 'n',
        long = "namespace",
        value_name = "NAME",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::namespaces)
    )]
    named: Option<String>,
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
        let ConnectionArgs {
            as_user, as_groups, ..
        } = &self.connection;
        Some((as_user.as_deref()?, as_groups))
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
            connection: ConnectionArgs {
                kubeconfig,
                context,
                as_user,
                as_groups,
                request_timeout: Some(request_timeout),
                ..ConnectionArgs::default()
            },
        }
    }

    /// Returns true if any of the flags is set.
    pub fn any(&self) -> bool {
        self.connection != ConnectionArgs::default()
    }

    /// Returns the context that a flag names.
    pub fn context(&self) -> Option<&str> {
        self.connection.context.as_deref()
    }

    /// Returns the API server and the user that the flags name.
    pub(crate) fn access(&self) -> Access {
        self.connection.access()
    }

    /// Returns the namespace of a flag, or that of the context, or `default`.
    pub(crate) fn namespace(&self, flag: Option<&str>) -> String {
        let flag = flag.map(str::to_owned);
        flag.or_else(|| namespace_of_context(&self.access()))
            .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
    }

    pub(super) fn connection(&self) -> &ConnectionArgs {
        &self.connection
    }
}

// === impl ClusterArgs ===

impl ClusterArgs {
    /// The timeout of a request, if a flag sets it.
    pub(crate) fn request_timeout(&self) -> Option<Wait> {
        self.connection.request_timeout
    }
}

// === impl ConnectionArgs ===

impl ConnectionArgs {
    /// # Errors
    /// The flags contradict each other.
    pub(super) fn check(&self) -> Result<(), CommandError> {
        let wrong = |words: &str| Err(CommandError::Config(words.to_owned()));
        let OverrideArgs {
            certificate_authority,
            insecure_skip_tls_verify,
            token,
            client_certificate,
            client_key,
            as_uid,
            ..
        } = &*self.overrides;
        if self.as_user.is_none() && !self.as_groups.is_empty() {
            return wrong("--as-group requires --as");
        }
        if self.as_user.is_none() && as_uid.is_some() {
            return wrong("--as-uid requires --as");
        }
        if client_certificate.is_some() != client_key.is_some() {
            return wrong("--client-certificate and --client-key require each other");
        }
        if token.is_some() && client_certificate.is_some() {
            return wrong("--token and --client-certificate exclude each other");
        }
        if *insecure_skip_tls_verify == Some(true) && certificate_authority.is_some() {
            return wrong(
                "--insecure-skip-tls-verify and --certificate-authority exclude each other",
            );
        }
        Ok(())
    }

    /// Returns true if a flag names a user or its credentials.
    pub(super) fn names_a_user(&self) -> bool {
        let flags = &self.overrides;
        self.as_user.is_some()
            || flags.user.is_some()
            || flags.token.is_some()
            || flags.client_certificate.is_some()
    }

    pub(super) fn access(&self) -> Access {
        let OverrideArgs {
            server,
            tls_server_name,
            certificate_authority,
            insecure_skip_tls_verify,
            user,
            token,
            client_certificate,
            client_key,
            as_uid,
        } = (*self.overrides).clone();
        Access {
            context: self.context.clone(),
            act_as: self.as_user.clone().map(|user| ActAs {
                user,
                groups: self.as_groups.clone(),
                uid: as_uid,
            }),
            overrides: Overrides {
                server,
                tls_server_name,
                certificate_authority,
                insecure_skip_tls_verify: insecure_skip_tls_verify == Some(true),
                user,
                token: token.map(|it| it.reveal().to_owned()),
                client_certificate,
                client_key,
            },
            ..Access::of_command(self.kubeconfig.clone())
        }
    }
}

// === impl NamespaceArgs ===

impl NamespaceArgs {
    /// Returns the namespace of the flag, or that of the context, or `default`.
    pub(crate) fn of(&self, hub: &HubArgs) -> String {
        hub.namespace(self.named.as_deref())
    }

    /// Returns the namespace of the flag, or `default`, for a command that reads no kubeconfig.
    pub(crate) fn without_a_hub(&self) -> String {
        let named = self.named.as_deref();
        named.unwrap_or(DEFAULT_NAMESPACE).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        hub: HubArgs,
    }

    fn checked(line: &str) -> Result<Access, String> {
        let words = format!("berth {line}");
        let line = Line::try_parse_from(words.split_whitespace());
        let connection = line.map_err(|error| error.to_string())?.hub.connection;
        connection.check().map_err(|error| error.to_string())?;
        Ok(connection.access())
    }

    #[test]
    fn flags_of_the_connection_are_kubectls() {
        let access = checked(
            "-s https://a:1 --token=SECRET --tls-server-name b --insecure-skip-tls-verify --as c --as-uid d --user e",
        );
        let access = access.unwrap();
        let overrides = &access.overrides;
        assert_eq!(overrides.server.as_deref(), Some("https://a:1"));
        assert_eq!(overrides.token.as_deref(), Some("SECRET"));
        assert!(overrides.insecure_skip_tls_verify);
        assert_eq!(access.act_as.unwrap().uid.as_deref(), Some("d"));
        assert!(checked("").unwrap().overrides.is_empty());
        for (line, words) in [
            ("--as-group g", "--as-group requires --as"),
            ("--as-uid u", "--as-uid requires --as"),
            ("--client-key f", "require each other"),
            (
                "--client-key f --client-certificate g --token SECRET",
                "exclude each other",
            ),
            (
                "--insecure-skip-tls-verify --certificate-authority f",
                "exclude each other",
            ),
            ("--insecure-skip-tls-verify=maybe", "invalid value"),
        ] {
            let error = checked(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }

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
