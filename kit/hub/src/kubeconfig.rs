//! Kubeconfigs, as kubectl finds and merges them and as kube reads them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::access::{Access, ConnectError, shown};
use crate::error::causes;
use crate::lenient;
use crate::values::{Fault, check, forget_unprotected, take_token, tidy};

/// A configuration, and the files it was read from.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// The context that was chosen; `None`: the cluster in which this process runs.
    pub(crate) context: Option<String>,
    /// Kubeconfigs, and the certificates, keys and tokens that they name. The token and the CA of a pod are reloaded by kube.
    pub(crate) files: Vec<PathBuf>,
    /// The name of its origin in messages.
    pub(crate) name: String,
}

/// The API server that the current context of a kubeconfig names, as the file has it: relative paths stay relative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of the cluster.
    pub cluster: String,
    /// `server`
    pub server: String,
    /// `certificate-authority`
    pub certificate_authority: Option<String>,
    /// `certificate-authority-data`, in base64.
    pub certificate_authority_data: Option<String>,
    /// `proxy-url`
    pub proxy_url: Option<String>,
}

/// The variables of the environment about kubeconfigs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) kubeconfig: Option<OsString>,
    pub(crate) home: Option<PathBuf>,
}

/// The names of the contexts in the kubeconfigs of this access, for completions. Empty if no kubeconfig can be read.
pub fn contexts(access: &Access) -> Vec<String> {
    let found = found(access, &Environment::of_process());
    let found = found.ok().flatten().unwrap_or_default();
    found
        .kubeconfig
        .contexts
        .into_iter()
        .map(|it| it.name)
        .collect()
}

/// An API server's address, and the authorities that verify it, as a kubeconfig names them.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// The URL, with its path. It has no user and no query.
    pub url: String,
    /// The authorities.
    pub authorities: Authorities,
    /// The URL of the HTTP proxy that the kubeconfig or the environment names. It may contain a password.
    pub proxy: Option<String>,
}

/// The authorities that verify an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// Those of this machine: the kubeconfig names none.
    System,
    /// These certificates, DER.
    Of(Vec<Vec<u8>>),
    /// None: the kubeconfig turns the verification off (`insecure-skip-tls-verify`).
    Unverified,
}

/// The API server that this access names. Blocks on files; connects to nothing.
///
/// # Errors
/// No API server is named, or its kubeconfig cannot be used.
pub fn server_address(access: &Access) -> Result<ServerAddress, ConnectError> {
    let Loaded { config, .. } = load(access, &Environment::of_process())?;
    let url = &config.cluster_url;
    let path = url.path().trim_end_matches('/');
    Ok(ServerAddress {
        url: format!("{}{path}", shown(url)),
        proxy: config.proxy_url.map(|proxy| proxy.to_string()),
        authorities: match config.root_cert {
            _ if config.accept_invalid_certs => Authorities::Unverified,
            Some(certificates) => Authorities::Of(certificates),
            None => Authorities::System,
        },
    })
}

/// The kubeconfigs of this access, and the certificates, keys and tokens that they name. Blocks on files. `None`: they cannot be used.
pub fn files(access: &Access) -> Option<Vec<PathBuf>> {
    let loaded = load(access, &Environment::of_process()).ok()?;
    Some(loaded.files)
}

/// The namespace of the chosen context. `None`: it has none, or no kubeconfig can be used. Blocks on files.
pub fn namespace_of_context(access: &Access) -> Option<String> {
    let kubeconfig = found(access, &Environment::of_process()).ok()??.kubeconfig;
    let context = chosen(&kubeconfig, access).ok()?;
    let named = kubeconfig.contexts.iter().find(|it| it.name == context)?;
    named.context.as_ref()?.namespace.clone()
}

/// The name of the chosen context's cluster. `None`: a flag names another API server, or no kubeconfig can be used. Blocks on files.
pub fn cluster_of_context(access: &Access) -> Option<String> {
    cluster_named(access, &Environment::of_process())
}

fn cluster_named(access: &Access, environment: &Environment) -> Option<String> {
    if access.overrides.server.is_some() {
        return None;
    }
    let kubeconfig = found(access, environment).ok()??.kubeconfig;
    let context = chosen(&kubeconfig, access).ok()?;
    let named = kubeconfig.contexts.iter().find(|it| it.name == context)?;
    let cluster = &named.context.as_ref()?.cluster;
    (!cluster.is_empty()).then(|| cluster.clone())
}

/// Reads the API server that a kubeconfig names. Blocks on the file. `name`: the flag that names the file.
///
/// # Errors
/// The file cannot be read, is not a kubeconfig, or its current context names no server.
pub fn endpoint(path: &Path, name: &str) -> Result<Endpoint, ConnectError> {
    let source_name = format!("{name} {}", path.display());
    match std::fs::read_to_string(path) {
        Ok(text) => endpoint_in(&text, &source_name),
        Err(error) => Err(ConnectError::Kubeconfig {
            source_name,
            why: error.to_string(),
        }),
    }
}

/// Reads the API server that a kubeconfig in memory names. `source_name`: for the error.
///
/// # Errors
/// It is not a kubeconfig, or its current context names no server.
pub fn endpoint_in(text: &str, source_name: &str) -> Result<Endpoint, ConnectError> {
    let wrong = |why: String| ConnectError::Kubeconfig {
        source_name: source_name.to_owned(),
        why,
    };
    let mut kubeconfig = lenient::parse(text).map_err(|error| wrong(words(&error)))?;
    tidy(&mut kubeconfig, None);
    let access = Access::of_server(None);
    let context = chosen(&kubeconfig, &access).map_err(|error| match error {
        ConnectError::NoCurrentContext { .. } => wrong("it has no current context".to_owned()),
        error => wrong(error.to_string()),
    })?;
    let named = kubeconfig.contexts.iter().find(|it| it.name == context);
    let cluster = named.and_then(|it| it.context.as_ref());
    let cluster = cluster.map(|it| it.cluster.clone()).unwrap_or_default();
    let of = cluster_of(&kubeconfig, &context).cloned();
    let of =
        of.ok_or_else(|| wrong(format!("context {context:?} names no cluster of the file")))?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(Endpoint {
        server: given(of.server)
            .ok_or_else(|| wrong(format!("cluster {cluster:?} has no server")))?,
        cluster,
        certificate_authority: given(of.certificate_authority),
        certificate_authority_data: given(of.certificate_authority_data),
        proxy_url: given(of.proxy_url),
    })
}

/// Reads the configuration of this access. Blocks on files.
pub(crate) fn load(access: &Access, environment: &Environment) -> Result<Loaded, ConnectError> {
    let Some(found) = found(access, environment)? else {
        if access.context.is_some() {
            return Err(ConnectError::ContextWithoutKubeconfig);
        }
        let mut config =
            Config::incluster().map_err(|_| ConnectError::NoKubeconfig { home: access.home })?;
        if access.anonymous {
            // The token's file need not exist: it is read when connections are made.
            config.auth_info = AuthInfo::default();
        }
        return Ok(Loaded {
            config: acting_as(config, access),
            context: None,
            files: Vec::new(),
            name: "the cluster this runs in".to_owned(),
        });
    };
    let Found {
        kubeconfig,
        name,
        mut files,
    } = found;
    let context = chosen(&kubeconfig, access).map_err(|error| match error {
        // Servers have no flag to choose a context.
        ConnectError::NoCurrentContext { .. } if !access.home => ConnectError::Kubeconfig {
            source_name: name.clone(),
            why: "it has no current context".to_owned(),
        },
        error => error,
    })?;
    files.extend(authority_of(&kubeconfig, &context));
    let users = &kubeconfig.auth_infos;
    if let Some(user) = &access.overrides.user
        && !users.iter().any(|it| it.name == *user)
    {
        return Err(ConnectError::Kubeconfig {
            source_name: name,
            why: format!("it has no user {user:?} (--user)"),
        });
    }
    let mut kubeconfig = access.overrides.applied(kubeconfig, &context);
    if access.anonymous {
        for user in &mut kubeconfig.auth_infos {
            user.auth_info = None;
        }
    }
    let (config, token_file) = configured(kubeconfig, &context, &name)?;
    files.extend(files_of(&config).chain(token_file));
    Ok(Loaded {
        config: acting_as(config, access),
        context: Some(context),
        files,
        name,
    })
}

/// The configuration of a kubeconfig in memory, in YAML or JSON.
pub(crate) fn parse(text: &str, name: &str) -> Result<Config, ConnectError> {
    let kubeconfig = lenient::parse(text).map_err(|error| ConnectError::Kubeconfig {
        source_name: name.to_owned(),
        why: words(&error),
    });
    let mut kubeconfig = kubeconfig?;
    tidy(&mut kubeconfig, None);
    let Some(context) = kubeconfig.current_context.clone() else {
        return Err(ConnectError::Kubeconfig {
            source_name: name.to_owned(),
            why: "it has no current context".to_owned(),
        });
    };
    configured(kubeconfig, &context, name).map(|(config, _)| config)
}

/// The configuration of a context of this kubeconfig, and the file with its token.
fn configured(
    kubeconfig: Kubeconfig,
    context: &str,
    name: &str,
) -> Result<(Config, Option<PathBuf>), ConnectError> {
    let wrong = |why: String| ConnectError::Kubeconfig {
        source_name: name.to_owned(),
        why,
    };
    let has_proxy = proxy_of(&kubeconfig, context).is_some();
    let options = KubeConfigOptions {
        context: Some(context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).now_or_never();
    let config = config.expect("kube only reads files here, and awaits nothing");
    let mut config = config.map_err(|error| wrong(words(&error)))?;
    forget_unprotected(&mut config);
    let faulty = |fault: Fault| wrong(fault.to_string());
    let token_file = take_token(&mut config.auth_info).map_err(faulty)?;
    if !has_proxy {
        // kube compares NO_PROXY with the proxy's host. It names servers.
        let matcher = Matcher::from_env();
        config.proxy_url =
            (config.proxy_url).filter(|_| matcher.intercept(&config.cluster_url).is_some());
    }
    check(&config).map_err(faulty)?;
    Ok((config, token_file))
}

/// The files that are read again whenever connections are made.
pub(crate) fn files_of(config: &Config) -> impl Iterator<Item = PathBuf> + use<> {
    let auth = &config.auth_info;
    [&auth.client_certificate, &auth.client_key]
        .map(|file| file.as_ref().map(PathBuf::from))
        .into_iter()
        .flatten()
}

#[derive(Default)]
struct Found {
    kubeconfig: Kubeconfig,
    /// Its name in messages.
    name: String,
    files: Vec<PathBuf>,
}

/// The kubeconfigs of this access, or else one of its flags alone.
fn found(access: &Access, environment: &Environment) -> Result<Option<Found>, ConnectError> {
    let found = in_files(access, environment)?;
    let has_context = |found: &Found| chosen(&found.kubeconfig, access).is_ok();
    if access.context.is_none()
        && !found.as_ref().is_some_and(has_context)
        && let Some(kubeconfig) = access.overrides.alone()
    {
        return Ok(Some(Found {
            kubeconfig,
            name: "--server".to_owned(),
            files: Vec::new(),
        }));
    }
    Ok(found)
}

fn in_files(access: &Access, environment: &Environment) -> Result<Option<Found>, ConnectError> {
    if let Some(path) = &access.kubeconfig {
        let name = format!("--kubeconfig {}", path.display());
        return Ok(Some(Found {
            kubeconfig: read(path, &name)?,
            name,
            files: vec![path.clone()],
        }));
    }
    let paths: Vec<PathBuf> = match &environment.kubeconfig {
        Some(value) if !value.is_empty() => env::split_paths(value).collect(),
        _ if access.home => {
            Vec::from_iter((environment.home.as_ref()).map(|home| home.join(".kube/config")))
        }
        _ => Vec::new(),
    };
    let mut found = None::<Found>;
    for path in paths.into_iter().filter(|path| path.exists()) {
        let name = path.display().to_string();
        let next = read(&path, &name)?;
        let before = found.unwrap_or_default();
        let merged = before.kubeconfig.merge(next);
        let mut files = before.files;
        files.push(path);
        found = Some(Found {
            kubeconfig: merged.map_err(|error| ConnectError::Kubeconfig {
                source_name: name.clone(),
                why: words(&error),
            })?,
            name: match before.name.as_str() {
                "" => name,
                before => format!("{before}, {name}"),
            },
            files,
        });
    }
    Ok(found)
}

fn read(path: &Path, name: &str) -> Result<Kubeconfig, ConnectError> {
    let read = lenient::read(path).map_err(|error| ConnectError::Kubeconfig {
        source_name: name.to_owned(),
        why: words(&error),
    });
    let mut kubeconfig = read?;
    tidy(&mut kubeconfig, path.parent());
    Ok(kubeconfig)
}

fn chosen(kubeconfig: &Kubeconfig, access: &Access) -> Result<String, ConnectError> {
    let contexts = || {
        kubeconfig
            .contexts
            .iter()
            .map(|it| it.name.clone())
            .collect()
    };
    let context = (access.context.as_ref()).or(kubeconfig.current_context.as_ref());
    let Some(context) = context.filter(|context| !context.is_empty()) else {
        return Err(ConnectError::NoCurrentContext {
            contexts: contexts(),
        });
    };
    if kubeconfig.contexts.iter().any(|it| it.name == *context) {
        return Ok(context.clone());
    }
    Err(ConnectError::NoContext {
        context: context.clone(),
        contexts: contexts(),
    })
}

fn cluster_of<'a>(kubeconfig: &'a Kubeconfig, context: &str) -> Option<&'a kube::config::Cluster> {
    let context = kubeconfig.contexts.iter().find(|it| it.name == context)?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|it| it.name == *name)?;
    cluster.cluster.as_ref()
}

fn proxy_of<'a>(kubeconfig: &'a Kubeconfig, context: &str) -> Option<&'a str> {
    let proxy = cluster_of(kubeconfig, context)?.proxy_url.as_deref();
    proxy.filter(|proxy| !proxy.is_empty())
}

fn authority_of(kubeconfig: &Kubeconfig, context: &str) -> Option<PathBuf> {
    let authority = cluster_of(kubeconfig, context)?
        .certificate_authority
        .as_ref();
    authority.map(PathBuf::from)
}

fn acting_as(mut config: Config, access: &Access) -> Config {
    if let Some(act_as) = &access.act_as {
        config.auth_info.impersonate = Some(act_as.user.clone());
        config.auth_info.impersonate_groups = Some(act_as.groups.clone());
        config.auth_info.impersonate_uid.clone_from(&act_as.uid);
    }
    config
}

/// The error without lines of the file, which may contain a token.
fn words(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => {
            format!("it is no kubeconfig: {}", error.without_snippet())
        }
        error => Fault::of(error).map_or_else(|| causes(error), |fault| fault.to_string()),
    }
}

// === impl Environment ===

impl Environment {
    pub(crate) fn of_process() -> Self {
        Self {
            kubeconfig: env::var_os("KUBECONFIG"),
            home: env::home_dir(),
        }
    }
}

#[cfg(test)]
mod kubectl;
#[cfg(test)]
mod tests;
