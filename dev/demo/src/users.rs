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

/// The agent of the cluster c1.
pub(super) const AGENT: &str = "agent";

/// Names, groups, and roles in the story.
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
        "agent of the cluster c1: reports its state to the hub",
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

const HUB: &str = "berth-demo";

/// A kubeconfig with a context for each user.
pub(super) fn kubeconfig(hub: &DevHub) -> anyhow::Result<Kubeconfig> {
    let users = USERS.map(|(name, groups, _)| {
        let issued = hub.client_certificate(user(name), groups)?;
        Ok(NamedAuthInfo {
            name: name.to_owned(),
            auth_info: Some(AuthInfo {
                client_certificate_data: Some(BASE64_STANDARD.encode(issued.certificate_pem)),
                client_key_data: Some(BASE64_STANDARD.encode(issued.key_pem).into()),
                ..AuthInfo::default()
            }),
            other: BTreeMap::new(),
        })
    });
    Ok(Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        clusters: vec![cluster(hub)],
        auth_infos: users.into_iter().collect::<anyhow::Result<_>>()?,
        contexts: USERS.map(|(name, _, _)| context(name)).into(),
        current_context: Some(ADMIN.to_owned()),
        ..Kubeconfig::default()
    })
}

/// The hub, for a kubeconfig.
pub(super) fn cluster(hub: &DevHub) -> NamedCluster {
    NamedCluster {
        name: HUB.to_owned(),
        cluster: Some(Cluster {
            server: Some(hub.url()),
            certificate_authority_data: Some(BASE64_STANDARD.encode(hub.ca_pem())),
            ..Cluster::default()
        }),
        other: BTreeMap::new(),
    }
}

/// A user on the hub, for a kubeconfig.
pub(super) fn context(user: &str) -> NamedContext {
    NamedContext {
        name: user.to_owned(),
        context: Some(Context {
            cluster: HUB.to_owned(),
            user: Some(user.to_owned()),
            ..Context::default()
        }),
        other: BTreeMap::new(),
    }
}

/// A client for one of the users.
pub(super) async fn client(kubeconfig: &Kubeconfig, name: &str) -> anyhow::Result<Client> {
    let options = KubeConfigOptions {
        context: Some(name.to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await?;
    Client::try_from(config).with_context(|| format!("a client for {name}"))
}
