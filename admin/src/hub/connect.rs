//! From flags and kubeconfigs to a client.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::{Hub, HubArgs, Wait};
use crate::failure::{Failure, chain, or_nearest};

const DEFAULT_WAIT: Duration = Duration::from_secs(30);

impl Hub {
    /// The hub that the flags name. Whether it answers, and is one, shows in use.
    ///
    /// # Errors
    /// There is no kubeconfig, or it cannot be used.
    pub(crate) async fn of(args: &HubArgs) -> Result<Self, Failure> {
        let mut config = config(args).await?;
        if !args.as_groups.is_empty() && args.as_user.is_none() {
            return Err(Failure::Config(
                "--as-group needs --as: a group alone is nobody".to_owned(),
            ));
        }
        if let Some(user) = &args.as_user {
            config.auth_info.impersonate = Some(user.clone());
            config.auth_info.impersonate_groups = Some(args.as_groups.clone());
        }
        let agent = concat!("berth/", env!("CARGO_PKG_VERSION"));
        config
            .headers
            .push((USER_AGENT, HeaderValue::from_static(agent)));
        // Who typed the command shall hear what the hub says, not wait for it to say something else.
        config.default_retry = false;
        let server = shown(&config.cluster_url);
        let client = Client::try_from(config)
            .map_err(|error| Failure::Config(format!("{server}: {}", chain(&error))))?;
        Ok(Self {
            client,
            server,
            wait: args.request_timeout.unwrap_or(Wait(DEFAULT_WAIT)).0,
        })
    }

    /// The same, with answers that are waited for no longer than this.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.wait = self.wait.min(limit);
        self
    }
}

/// The URL without what may be a secret in it.
fn shown(url: &http::Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{}://{host}", url.scheme_str().unwrap_or("https"))
}

async fn config(args: &HubArgs) -> Result<Config, Failure> {
    let kubeconfig = match &args.kubeconfig {
        Some(path) => read(path)?,
        None => match found()? {
            Some(kubeconfig) => kubeconfig,
            None if args.context.is_none() => {
                return Config::incluster().map_err(|_| {
                    Failure::Config(
                        "no kubeconfig: name the hub's by --kubeconfig FILE or in $KUBECONFIG (~/.kube/config is not \
                         there, and this does not run in a cluster)"
                            .to_owned(),
                    )
                });
            }
            None => {
                return Err(Failure::Config(
                    "--context needs a kubeconfig, and there is none: name it by --kubeconfig FILE or in $KUBECONFIG"
                        .to_owned(),
                ));
            }
        },
    };
    let context = args
        .context
        .as_ref()
        .or(kubeconfig.current_context.as_ref());
    let contexts: Vec<&str> = kubeconfig
        .contexts
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    match context.filter(|context| !context.is_empty()) {
        Some(context) if !contexts.contains(&context.as_str()) => {
            let near = or_nearest(context, contexts.iter().copied());
            return Err(Failure::Config(format!(
                "the kubeconfig has no context {context:?}{near}"
            )));
        }
        None => {
            let contexts = contexts.join(", ");
            return Err(Failure::Config(format!(
                "the kubeconfig has no current context: choose one by --context (it has: {contexts})"
            )));
        }
        Some(_) => {}
    }
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| Failure::Config(format!("kubeconfig: {}", chain(&error))))
}

fn read(path: &Path) -> Result<Kubeconfig, Failure> {
    Kubeconfig::read_from(path).map_err(|error| {
        Failure::Config(format!(
            "--kubeconfig {}: {}",
            path.display(),
            chain(&error)
        ))
    })
}

/// The kubeconfig that is found without a flag, as kubectl finds it: files of $KUBECONFIG that are not there are passed over.
fn found() -> Result<Option<Kubeconfig>, Failure> {
    let paths: Vec<PathBuf> = match std::env::var_os("KUBECONFIG") {
        Some(value) if !value.is_empty() => std::env::split_paths(&value).collect(),
        _ => Vec::from_iter(std::env::home_dir().map(|home| home.join(".kube/config"))),
    };
    let mut merged = None::<Kubeconfig>;
    for path in paths.iter().filter(|path| path.exists()) {
        let wrong = |error| Failure::Config(format!("{}: {}", path.display(), chain(&error)));
        let next = Kubeconfig::read_from(path).map_err(wrong)?;
        merged = Some(merged.unwrap_or_default().merge(next).map_err(wrong)?);
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_url_is_shown_without_secrets() {
        for (url, expected) in [
            ("https://hub.example:6443/", "https://hub.example:6443"),
            ("https://me:secret@hub/path?token=x", "https://hub"),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), expected);
        }
    }
}
