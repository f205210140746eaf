//! The registrations as the manifests have them.

use berth_webhooks::review::Webhook;
use serde_json::Value;

/// The only webhook in the registration of this one.
pub(crate) fn webhook(webhook: Webhook) -> Value {
    let manifest = match webhook {
        Webhook::MutateCluster => {
            include_str!("../../../manifests/registrations/managedclustermutators.yaml")
        }
        Webhook::ValidateCluster => {
            include_str!("../../../manifests/registrations/managedclustervalidators.yaml")
        }
        Webhook::ValidateClusterSet => include_str!(
            "../../../manifests/registrations/managedclustersets/managedclustersetvalidators.yaml"
        ),
        Webhook::ValidateBinding => {
            include_str!("../../../manifests/registrations/managedclustersetbindingvalidators.yaml")
        }
        Webhook::ValidateRequest => include_str!(
            "../../../manifests/registrations/certificatesigningrequests/certificatesigningrequestvalidators.yaml"
        ),
    };
    // It is the one that was compiled in: a test reads it.
    let mut object: Value = serde_saphyr::from_str(manifest).unwrap_or_default();
    object["webhooks"][0].take()
}

/// The kind of a webhook's registration, as kubectl takes it.
pub(crate) fn kind(webhook: Webhook) -> &'static str {
    if webhook.mutates() {
        "mutatingwebhookconfiguration"
    } else {
        "validatingwebhookconfiguration"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_is_shipped() {
        for each in Webhook::ALL {
            assert_eq!(webhook(each)["name"], each.registration());
            assert_eq!(
                webhook(each)["clientConfig"]["service"]["path"],
                each.path()
            );
        }
    }
}
