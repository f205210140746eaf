//! What a hub says of this cluster before the agent goes there.

use std::time::Duration;

use berth_agent_core::cluster::Cluster;
use berth_agent_core::hubs::Sight;
use berth_agent_core::kubeconfig::with_pair;
use berth_api::groups;
use berth_certs::client::ClientKey;
use berth_hub::{Call, CallError, HubApi, optional};
use serde_json::{Value, json};

use crate::bootstrap::Hub;
use crate::registration::CLUSTERS;

/// The longest time for a call.
const LONGEST: Duration = Duration::from_secs(10);

/// What OCM's agent checks before it registers: the bootstrap credentials may do these.
const RIGHTS: [(&str, &str, &str); 6] = [
    (groups::CLUSTER, groups::MANAGED_CLUSTERS, "create"),
    (groups::CLUSTER, groups::MANAGED_CLUSTERS, "get"),
    (CERTIFICATES, REQUESTS, "create"),
    (CERTIFICATES, REQUESTS, "get"),
    (CERTIFICATES, REQUESTS, "list"),
    (CERTIFICATES, REQUESTS, "watch"),
];

const CERTIFICATES: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// Asks a hub about the cluster: with the agent's own certificate, if there is one, and else with the bootstrap credentials.
pub(crate) async fn look(hub: &Hub, cluster: &str, pair: Option<(Vec<u8>, ClientKey)>) -> Sight {
    if let Some((certificate, key)) = pair {
        let text = with_pair(&hub.kubeconfig, &certificate, key.to_pem().as_bytes());
        if let Ok(api) = HubApi::of_kubeconfig(&text, "the certificate of the hub").await
            && let Ok(Some(found)) = read(&api, cluster).await
        {
            return Sight::of(Some(&found));
        }
    }
    match ask(&hub.api, cluster).await {
        Ok(sight) => sight,
        Err(error) => Sight::Unusable(error.to_string()),
    }
}

async fn ask(api: &HubApi, cluster: &str) -> Result<Sight, CallError> {
    for (group, resource, verb) in RIGHTS {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": group, "resource": resource, "verb": verb}},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer: Value = api
            .call(Call::post(path, review.to_string()).within(LONGEST))
            .await?
            .json()?;
        if answer["status"]["allowed"] != true {
            return Ok(Sight::Unusable(format!(
                "the bootstrap user may not {verb} {resource}: grant it the rights of manifests/bootstrap"
            )));
        }
    }
    Ok(Sight::of(read(api, cluster).await?.as_ref()))
}

async fn read(api: &HubApi, cluster: &str) -> Result<Option<Cluster>, CallError> {
    let call = Call::get(format!("{CLUSTERS}/{cluster}")).within(LONGEST);
    let answer = optional(api.call(call).await)?;
    let object: Option<Value> = answer.map(|it| it.json()).transpose()?;
    Ok(object.as_ref().map(Cluster::read))
}
