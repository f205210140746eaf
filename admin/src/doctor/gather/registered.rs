//! The registrations, the Services that they name, and the certificates at their URLs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_certs::served::{self, Chain};
use berth_manifests::webhooks::WEBHOOKS;
use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use serde_json::Value;

use super::{get, read};
use crate::doctor::facts::{Called, Endpoint, Fact, Registration, Unread, conversions, endpoint};
use crate::doctor::installation::{self, OWN_SECRET};
use crate::doctor::objects::{Deployment, EndpointSlice, Secret, Service};
use crate::hub::{Filter, HubConnection};

/// Timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The registrations, and what they name.
pub(super) struct Registrations {
    pub(super) mutating: Fact<Vec<Registration>>,
    pub(super) validating: Fact<Vec<Registration>>,
    pub(super) called: BTreeMap<(String, String), Called>,
    pub(super) served: BTreeMap<Endpoint, Fact<Chain>>,
}

/// Reads the registrations and what they name.
pub(super) async fn registrations(hub: &HubConnection, namespace: &str) -> Registrations {
    const GROUP: &str = "admissionregistration.k8s.io";
    let all = Filter::default();
    let (mutating, validating) = futures::join!(
        read(
            "list",
            ("mutatingwebhookconfigurations", GROUP),
            None,
            hub.list_values::<MutatingWebhookConfiguration>(None, &all),
        ),
        read(
            "list",
            ("validatingwebhookconfigurations", GROUP),
            None,
            hub.list_values::<ValidatingWebhookConfiguration>(None, &all),
        ),
    );
    let mutating = mutating.map(|all| {
        all.iter()
            .map(|it| Registration::of("mutatingwebhookconfiguration", it))
            .collect::<Vec<_>>()
    });
    let validating = validating.map(|all| {
        all.iter()
            .map(|it| Registration::of("validatingwebhookconfiguration", it))
            .collect::<Vec<_>>()
    });
    let ours: BTreeSet<Endpoint> = [&mutating, &validating]
        .into_iter()
        .flatten()
        .flatten()
        .filter(|it| WEBHOOKS.iter().any(|own| own.name == it.name))
        .flat_map(|it| &it.webhooks)
        .filter_map(endpoint)
        .collect();
    let services: BTreeSet<(String, String)> = ours
        .iter()
        .filter_map(|endpoint| match endpoint {
            Endpoint::Service {
                namespace, name, ..
            } => Some((namespace.clone(), name.clone())),
            Endpoint::Address { .. } => None,
        })
        .collect();
    let called = all_called(hub, services, namespace);
    let addresses = ours.into_iter().filter_map(|endpoint| match &endpoint {
        Endpoint::Address { host, port } => {
            let (host, port) = (host.clone(), *port);
            Some(async move { (endpoint, shown_at(&host, port).await) })
        }
        Endpoint::Service { .. } => None,
    });
    let (called, served) = futures::join!(called, join_all(addresses));
    Registrations {
        mutating,
        validating,
        called,
        served: served.into_iter().collect(),
    }
}

/// Reads the Services that conversions name, besides those of the registrations.
pub(super) async fn of_conversions(
    hub: &HubConnection,
    crds: &BTreeMap<String, Fact<Option<Value>>>,
    namespace: &str,
    registrations: &mut Registrations,
) {
    let named = conversions(crds).filter_map(|(_, webhook)| match endpoint(webhook)? {
        Endpoint::Service {
            namespace, name, ..
        } => Some((namespace, name)),
        Endpoint::Address { .. } => None,
    });
    let others = named.filter(|it| !registrations.called.contains_key(it));
    let others: BTreeSet<_> = others.collect();
    let called = all_called(hub, others, namespace).await;
    registrations.called.extend(called);
}

async fn all_called(
    hub: &HubConnection,
    services: BTreeSet<(String, String)>,
    installed_in: &str,
) -> BTreeMap<(String, String), Called> {
    let each = services.into_iter().map(|(within, name)| async move {
        let called = called(hub, &within, &name, installed_in).await;
        ((within, name), called)
    });
    join_all(each).await.into_iter().collect()
}

async fn called(hub: &HubConnection, namespace: &str, name: &str, installed_in: &str) -> Called {
    let within = Some(namespace);
    let slices = Filter::labels(format!("kubernetes.io/service-name={name}"));
    let slices = async {
        let items = hub.list::<EndpointSlice>(within, &slices).await?;
        Ok(items.into_iter().map(|item| item.object).collect())
    };
    let secret = async {
        // If the Deployment cannot be read, another check reports it.
        let deployment = get::<Deployment>(hub, Some(installed_in), installation::WEBHOOK).await;
        let is_elsewhere = matches!(deployment, Ok(None));
        let usual = installation::secret(deployment.ok().flatten().as_ref());
        let at = |name: String| async move {
            let secret = get::<Secret>(hub, within, &name);
            (read("get", ("secrets", ""), within, secret).await, name)
        };
        let found = at(usual).await;
        if is_elsewhere && matches!(found, (Ok(None), _)) {
            // The gate may run on another cluster: mode Hosted.
            let own = at(OWN_SECRET.to_owned()).await;
            if matches!(own, (Ok(Some(_)), _)) {
                return own;
            }
        }
        found
    };
    let (service, slices, (secret, secret_name)) = futures::join!(
        read(
            "get",
            ("services", ""),
            within,
            get::<Service>(hub, within, name)
        ),
        read(
            "list",
            ("endpointslices", "discovery.k8s.io"),
            within,
            slices
        ),
        secret,
    );
    Called {
        service,
        slices,
        secret,
        secret_name,
    }
}

async fn shown_at(host: &str, port: u16) -> Fact<Chain> {
    let seen = tokio::time::timeout(HANDSHAKE, async {
        let stream = tokio::net::TcpStream::connect((host, port))
            .await
            .map_err(|error| error.to_string())?;
        served::seen_at(stream, host).await
    });
    let from_here = |why: String| Unread::Why(format!("cannot connect from here: {why}"));
    match seen.await {
        Ok(seen) => seen.map_err(from_here),
        Err(_) => Err(from_here(format!("no answer in {HANDSHAKE:?}"))),
    }
}
