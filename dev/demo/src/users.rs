//! The users of the demo, and their kubeconfig.

use std::collections::BTreeMap;

use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine};
use berth_devhub::DevHub;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Client, Config};

/// Installs everything.
pub(super) const ROOT: &str = "root";
/// The hub admin.
pub(super) const ADMIN: &str = "ada";
/// The admin of the set `prod`.
pub(super) const SET_ADMIN: &str = "sam";
/// A developer with clusters.
pub(super) const DEVELOPER: &str = "dev";

/// The agent of the cluster c1, on the hub.
pub(super) const AGENT: &str = "agent";

/// The users of the hub: names, groups, and roles in the story.
pub(super) const USERS: [(&str, &[&str], &str); 5] = [
    (
        ADMIN,
        &["hub-admins"],
        "hub admin: accepts clusters, joins and binds every set",
    ),
    (
        SET_ADMIN,
        &["prod-admins"],
        "set admin: joins and binds the set prod",
    ),
    (
        DEVELOPER,
        &["developers"],
        "developer: creates clusters, works in the namespace team-a",
    ),
    (
        AGENT,
        &["system:open-cluster-management:c1"],
        "agent of the cluster c1, as the hub knows it",
    ),
    (ROOT, &["system:masters"], "may do everything"),
];

/// The user name on the hub: an agent's is longer.
fn user(name: &str) -> &str {
    match name {
        AGENT => "system:open-cluster-management:c1:agent",
        name => name,
    }
}

/// The name of the hub in the kubeconfig.
pub(super) const HUB: &str = "berth-demo";

/// A kubeconfig with a context for each user of the hub, and one for the admin of each managed cluster.
pub(super) fn kubeconfig(
    hub: &DevHub,
    managed: &[(&'static str, DevHub)],
) -> anyhow::Result<Kubeconfig> {
    let mut kubeconfig = Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        clusters: vec![cluster(HUB, hub)],
        current_context: Some(ADMIN.to_owned()),
        ..Kubeconfig::default()
    };
    for (name, groups, _) in USERS {
        let auth = auth_info(name, hub, user(name), groups)?;
        kubeconfig.auth_infos.push(auth);
        kubeconfig.contexts.push(context(name, HUB));
    }
    for (name, server) in managed {
        let auth = auth_info(name, server, "admin", &["system:masters"])?;
        kubeconfig.auth_infos.push(auth);
        kubeconfig.clusters.push(cluster(name, server));
        kubeconfig.contexts.push(context(name, name));
    }
    Ok(kubeconfig)
}

/// The credentials of a user, for a kubeconfig.
fn auth_info(
    name: &str,
    server: &DevHub,
    user: &str,
    groups: &[&str],
) -> anyhow::Result<NamedAuthInfo> {
    let issued = server.client_certificate(user, groups)?;
    Ok(NamedAuthInfo {
        name: name.to_owned(),
        auth_info: Some(AuthInfo {
            client_certificate_data: Some(BASE64_STANDARD.encode(issued.certificate_pem)),
            client_key_data: Some(BASE64_STANDARD.encode(issued.key_pem).into()),
            ..AuthInfo::default()
        }),
        other: BTreeMap::new(),
    })
}

/// An API server, for a kubeconfig.
pub(super) fn cluster(name: &str, server: &DevHub) -> NamedCluster {
    NamedCluster {
        name: name.to_owned(),
        cluster: Some(Cluster {
            server: Some(server.url()),
            certificate_authority_data: Some(BASE64_STANDARD.encode(server.ca_pem())),
            ..Cluster::default()
        }),
        other: BTreeMap::new(),
    }
}

/// A user on an API server, for a kubeconfig.
pub(super) fn context(user: &str, cluster: &str) -> NamedContext {
    NamedContext {
        name: user.to_owned(),
        context: Some(Context {
            cluster: cluster.to_owned(),
            user: Some(user.to_owned()),
            ..Context::default()
        }),
        other: BTreeMap::new(),
    }
}

/// The configuration of a client for this context.
pub(super) async fn config(kubeconfig: &Kubeconfig, context: &str) -> anyhow::Result<Config> {
    let options = KubeConfigOptions {
        context: Some(context.to_owned()),
        ..KubeConfigOptions::default()
    };
    Ok(Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await?)
}

/// A client for this context.
pub(super) async fn client(kubeconfig: &Kubeconfig, context: &str) -> anyhow::Result<Client> {
    let config = config(kubeconfig, context).await?;
    Client::try_from(config).with_context(|| format!("a client for {context}"))
}
