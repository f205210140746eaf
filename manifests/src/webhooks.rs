//! The table of webhooks: one row each, for the gate's routes, the registrations, the doctor, the demo and the tests.
//!
//! A new webhook is a row here and its registration file. The gate selects the rules for its reviews.

use berth_api::Webhook;
use serde_json::{Value, json};

use crate::files::{self, Manifest};

/// A webhook of the gate. Paths and names are OCM's, so that OCM's registrations work with this gate, and ours replace OCM's.
#[derive(Debug)]
pub struct ShippedWebhook {
    /// The webhook, which has the identity in the next fields.
    pub webhook: Webhook,
    /// Its URL path.
    pub path: &'static str,
    /// The name of its registration, and of the only webhook in it.
    pub name: &'static str,
    /// It may change objects.
    pub mutates: bool,
    /// The API group of its objects.
    pub group: &'static str,
    /// The version of its objects.
    pub version: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// The resource of its objects.
    pub resource: &'static str,
    /// The file of its registration.
    pub manifest: Manifest,
    /// The effect if it is not registered.
    pub missing: Missing,
    /// A write that shows if it works. None if no write of an admin reaches it.
    pub probe: Option<Probe>,
}

/// The effect of a webhook that is not registered.
#[derive(Debug)]
pub struct Missing {
    /// True if users gain permissions by it, or objects lack fields that OCM sets.
    pub is_fault: bool,
    /// The effect, as a clause.
    pub effect: &'static str,
}

/// A write, sent as a dry run. The response shows if the webhook was called, and if it is Berth's.
#[derive(Debug)]
pub struct Probe {
    /// The namespace of the object, if it is namespaced.
    pub namespace: Option<&'static str>,
    /// Makes `metadata` and `spec` of the object to create from a name that no object has.
    pub object: fn(name: &str) -> Value,
    /// How to read the response.
    pub shows: Shows,
}

/// How to read the response to a [`Probe`].
#[derive(Debug)]
pub enum Shows {
    /// The webhook fills in a field of the object.
    Filled {
        /// The field, as a JSON pointer.
        field: &'static str,
        /// The question, as a clause.
        question: &'static str,
        /// The other result, as a clause.
        instead: &'static str,
    },
    /// The object is refused as malformed.
    Refused {
        /// Part of Berth's message.
        berth: &'static str,
        /// Part of OCM's message for another fault, which Berth reports second.
        ocm: Option<&'static str>,
    },
}

/// Rows, and the list of all. A row adds to the identity of its webhook what is shipped for it.
macro_rules! webhooks {
    ($($(#[$doc:meta])* $name:ident = $webhook:ident { $($field:ident: $value:expr,)* };)*) => {
        $($(#[$doc])* pub static $name: ShippedWebhook = ShippedWebhook {
            webhook: Webhook::$webhook,
            path: Webhook::$webhook.path(),
            mutates: Webhook::$webhook.mutates(),
            group: Webhook::$webhook.group(),
            version: Webhook::$webhook.version(),
            kind: Webhook::$webhook.kind(),
            resource: Webhook::$webhook.resource(),
            $($field: $value,)*
        };)*
        /// All webhooks of the gate.
        pub static WEBHOOKS: &[&ShippedWebhook] = &[$(&$name),*];
    };
}

webhooks! {
    /// Fills in the defaults of ManagedClusters.
    MUTATE_CLUSTER = MutateCluster {
        name: "managedclustermutators.admission.cluster.open-cluster-management.io",
        manifest: files::CLUSTER_MUTATORS,
        missing: Missing {
            is_fault: true,
            effect: "clusters do not get the default set, nor taints their times",
        },
        probe: Some(Probe {
            namespace: None,
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {
                    "hubAcceptsClient": false,
                    "taints": [{"key": "berth-doctor", "effect": "NoSelect"}],
                },
            }),
            shows: Shows::Filled {
                field: "/spec/taints/0/timeAdded",
                question: "whether new taints get their time",
                instead: "a new taint did not get its time",
            },
        }),
    };
    /// Decides writes of ManagedClusters.
    VALIDATE_CLUSTER = ValidateCluster {
        name: "managedclustervalidators.admission.cluster.open-cluster-management.io",
        manifest: files::CLUSTER_VALIDATORS,
        missing: Missing {
            is_fault: true,
            effect: "any user who may write a ManagedCluster may accept it, and put it into any set",
        },
        probe: Some(Probe {
            namespace: None,
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {
                    "hubAcceptsClient": false,
                    "leaseDurationSeconds": 86401,
                    "managedClusterClientConfigs": [{"url": "http://berth-doctor.invalid"}],
                },
            }),
            shows: Shows::Refused {
                berth: "spec.leaseDurationSeconds: Invalid value: 86401",
                ocm: Some("is invalid in client configs"),
            },
        }),
    };
    /// Decides writes of ManagedClusterSets. OCM has no such webhook.
    VALIDATE_SET = ValidateClusterSet {
        name: "managedclustersetvalidators.admission.cluster.open-cluster-management.io",
        manifest: files::SET_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "sets that nothing can belong to are not refused",
        },
        probe: Some(Probe {
            namespace: None,
            // Too long for a label.
            object: |name| json!({"metadata": {"name": format!("{name:x<64}")}}),
            shows: Shows::Refused {
                berth: "metadata.name: Invalid value: ",
                ocm: None,
            },
        }),
    };
    /// Decides writes of ManagedClusterSetBindings.
    VALIDATE_BINDING = ValidateBinding {
        name: "managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io",
        manifest: files::BINDING_VALIDATORS,
        missing: Missing {
            is_fault: true,
            effect: "any user who may write bindings may bind any set, anywhere",
        },
        probe: Some(Probe {
            // Every hub has this namespace.
            namespace: Some("default"),
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {"clusterSet": format!("not-{name}")},
            }),
            shows: Shows::Refused {
                // OCM's message is the same. The write of a cluster distinguishes the two.
                berth: "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet",
                ocm: None,
            },
        }),
    };
    /// Decides writes of agents' CertificateSigningRequests, and of those for add-ons. OCM has no such webhook.
    VALIDATE_REQUEST = ValidateRequest {
        name: "certificatesigningrequestvalidators.admission.cluster.open-cluster-management.io",
        manifest: files::REQUEST_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "an agent may file requests for other clusters, whose agents stop renewing at ten of them, and others may file \
                     requests for add-ons",
        },
        // Only requests of agents and for add-ons come to the gate.
        probe: None,
    };
    /// Decides writes of Placements. OCM has no such webhook.
    VALIDATE_PLACEMENT = ValidatePlacement {
        name: "placementvalidators.admission.cluster.open-cluster-management.io",
        manifest: files::PLACEMENT_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "placements that cannot be scheduled are not refused",
        },
        probe: Some(Probe {
            // Every hub has this namespace.
            namespace: Some("default"),
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {"numberOfClusters": -1},
            }),
            shows: Shows::Refused {
                berth: "spec.numberOfClusters: numberOfClusters is -1",
                ocm: None,
            },
        }),
    };
    /// Decides writes of ManifestWorks.
    VALIDATE_WORK = ValidateWork {
        name: "manifestworkvalidators.admission.work.open-cluster-management.io",
        manifest: files::WORK_VALIDATORS,
        missing: Missing {
            is_fault: true,
            effect: "any user who may write a ManifestWork may have it carried out with the rights of any executor",
        },
        probe: Some(Probe {
            // Every hub has this namespace.
            namespace: Some("default"),
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {
                    "workload": {"manifests": []},
                    "manifestConfigs": [{
                        "resourceIdentifier": {"resource": "pods", "name": "berth-doctor"},
                        "conditionRules": [{"condition": "Applied", "type": "WellKnownConditions"}],
                    }],
                },
            }),
            shows: Shows::Refused {
                berth: "spec.manifestConfigs[0].conditionRules: Invalid value: \"Applied\"",
                ocm: Some("manifests should not be empty"),
            },
        }),
    };
    /// Decides writes of ManifestWorkReplicaSets. OCM has the path, and registers nothing for it.
    VALIDATE_REPLICA_SET = ValidateReplicaSet {
        name: "manifestworkreplicasetvalidators.admission.work.open-cluster-management.io",
        manifest: files::REPLICA_SET_VALIDATORS,
        missing: Missing {
            // As in OCM.
            is_fault: false,
            effect: "any user who may write a ManifestWorkReplicaSet may have it carried out with the rights of any executor",
        },
        probe: Some(Probe {
            // Every hub has this namespace.
            namespace: Some("default"),
            object: |name| json!({
                "metadata": {"name": name},
                "spec": {
                    "manifestWorkTemplate": {"workload": {"manifests": []}},
                    "placementRefs": [{"name": "berth-doctor"}],
                },
            }),
            shows: Shows::Refused {
                berth: "Workload manifests should not be empty",
                ocm: None,
            },
        }),
    };
    /// Checks AddOnTemplates. OCM has no such webhook, nor the next ones.
    VALIDATE_TEMPLATE = ValidateTemplate {
        name: "addontemplatevalidators.admission.addon.open-cluster-management.io",
        manifest: files::ADDON_TEMPLATE_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "templates that no cluster can have are not refused",
        },
        probe: None,
    };
    /// Checks AddOnDeploymentConfigs.
    VALIDATE_DEPLOYMENT_CONFIG = ValidateDeploymentConfig {
        name: "addondeploymentconfigvalidators.admission.addon.open-cluster-management.io",
        manifest: files::ADDON_CONFIG_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "configs that cannot be used are not refused",
        },
        probe: None,
    };
    /// Checks ClusterManagementAddOns.
    VALIDATE_MANAGEMENT_ADDON = ValidateManagementAddOn {
        name: "clustermanagementaddonvalidators.admission.addon.open-cluster-management.io",
        manifest: files::MANAGEMENT_ADDON_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "configs of a kind that an add-on does not support are not refused",
        },
        probe: None,
    };
    /// Checks ManagedClusterAddOns.
    VALIDATE_CLUSTER_ADDON = ValidateClusterAddOn {
        name: "managedclusteraddonvalidators.admission.addon.open-cluster-management.io",
        manifest: files::CLUSTER_ADDON_VALIDATORS,
        missing: Missing {
            is_fault: false,
            effect: "a config of a kind that an add-on does not support gives no warning",
        },
        probe: None,
    };
}

/// The webhook that is served under a path.
pub fn at(path: &str) -> Option<&'static ShippedWebhook> {
    WEBHOOKS.iter().copied().find(|it| it.path == path)
}

// === impl ShippedWebhook ===

impl ShippedWebhook {
    /// The kind of its registration, as kubectl takes it.
    pub const fn registration_kind(&self) -> &'static str {
        if self.mutates {
            "mutatingwebhookconfiguration"
        } else {
            "validatingwebhookconfiguration"
        }
    }

    /// Its registration, as it is shipped.
    pub fn registration(&self) -> Value {
        self.manifest.documents().swap_remove(0)
    }

    /// The only webhook in its registration.
    pub fn webhook(&self) -> Value {
        self.registration()["webhooks"][0].take()
    }

    /// `group/version` of its objects.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

impl PartialEq for ShippedWebhook {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for ShippedWebhook {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_says_what_its_row_says() {
        for webhook in WEBHOOKS {
            let registration = webhook.registration();
            let kind = registration["kind"].as_str().unwrap();
            assert_eq!(kind.to_lowercase(), webhook.registration_kind());
            assert_eq!(registration["metadata"]["name"], webhook.name);
            assert_eq!(registration["webhooks"].as_array().unwrap().len(), 1);
            let only = webhook.webhook();
            assert_eq!(only["name"], webhook.name);
            assert_eq!(only["clientConfig"]["service"]["path"], webhook.path);
            let is_namespaced = webhook.webhook.is_namespaced();
            if let Some(probe) = &webhook.probe {
                assert_eq!(probe.namespace.is_some(), is_namespaced, "{}", webhook.name);
            }
            for rule in only["rules"].as_array().unwrap() {
                assert_eq!(
                    rule["scope"] == "Namespaced",
                    is_namespaced,
                    "{}",
                    webhook.name
                );
                assert_eq!(
                    rule["apiGroups"],
                    json!([webhook.group]),
                    "{}",
                    webhook.name
                );
                let versions = &rule["apiVersions"];
                assert!(
                    *versions == json!(["*"]) || *versions == json!([webhook.version]),
                    "{}",
                    webhook.name
                );
                let resources = rule["resources"].as_array().unwrap();
                for resource in resources {
                    let resource = resource.as_str().unwrap();
                    let whole = resource.split('/').next();
                    assert_eq!(whole, Some(webhook.resource), "{}", webhook.name);
                }
            }
        }
    }

    #[test]
    fn every_registration_has_a_row() {
        let rows: Vec<_> = WEBHOOKS.iter().map(|webhook| webhook.manifest).collect();
        for manifest in files::ALL {
            if manifest.path.starts_with("manifests/registrations/") {
                assert!(rows.contains(manifest), "{}", manifest.path);
            }
        }
        assert_eq!(at(VALIDATE_SET.path), Some(&VALIDATE_SET));
        assert_eq!(at("/"), None);
    }
}
