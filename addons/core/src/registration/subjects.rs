//! As whom the agents of an add-on act on the hub.

use berth_api::addon::{
    AddOnTemplateSpec, BaseSubject, CustomSignerConfig, CustomSignerRegistrationConfig,
    KubeClientConfig, RegistrationConfig, RegistrationSpecType, RegistrationType, Subject,
    TemplateSubject,
};
use berth_api::agents;

/// The driver of agents with a client certificate.
pub const CSR: &str = "csr";
/// The driver of agents with the token of a service account.
pub const TOKEN: &str = "token";

/// The user of an add-on's agents of a cluster.
#[must_use]
pub fn default_user(cluster: &str, addon: &str) -> String {
    format!("{}:agent:{addon}-agent", cluster_group(cluster, addon))
}

/// The groups of an add-on's agents of a cluster: that of the cluster, and that of all clusters.
#[must_use]
pub fn default_groups(cluster: &str, addon: &str) -> [String; 2] {
    [cluster_group(cluster, addon), addon_group(addon)]
}

/// The user of the service account of an add-on's agents of a cluster, for the driver `token`.
#[must_use]
pub fn account(cluster: &str, addon: &str) -> String {
    format!("system:serviceaccount:{cluster}:{addon}-agent")
}

/// The group of an add-on's agents of one cluster.
pub(super) fn cluster_group(cluster: &str, addon: &str) -> String {
    format!("{}cluster:{cluster}:addon:{addon}", agents::PREFIX)
}

/// The group of an add-on's agents of all clusters.
pub(super) fn addon_group(addon: &str) -> String {
    format!("{}addon:{addon}", agents::PREFIX)
}

/// Returns `status.registrations` of a ManagedClusterAddOn. `stored`: what it is now.
///
/// The agent of the cluster writes the driver of a registration, which is kept. With the driver `token` it also writes the subject: only
/// the service account of the add-on in the namespace of the cluster is kept, since permissions are granted to the subject.
#[must_use]
pub fn registrations(
    cluster: &str,
    addon: &str,
    template: &AddOnTemplateSpec,
    stored: &[RegistrationConfig],
) -> Vec<RegistrationConfig> {
    let mut registrations: Vec<RegistrationConfig> = Vec::new();
    for registration in &template.registration {
        let wanted = match (&registration.r#type, &registration.custom_signer) {
            (RegistrationSpecType::KubeClient, _) => kube_client(cluster, addon, stored),
            (RegistrationSpecType::CustomSigner, Some(custom)) => RegistrationConfig {
                r#type: RegistrationType::CustomSigner,
                kube_client: None,
                custom_signer: Some(CustomSignerConfig {
                    signer_name: custom.signer_name.clone(),
                    subject: custom_subject(cluster, addon, custom),
                }),
            },
            _ => continue,
        };
        // Two of one signer would be one Secret on the cluster.
        if !registrations.contains(&wanted) {
            registrations.push(wanted);
        }
    }
    registrations
}

fn kube_client(cluster: &str, addon: &str, stored: &[RegistrationConfig]) -> RegistrationConfig {
    let stored = kube_client_of(stored);
    let driver = stored.map_or("", |stored| &stored.driver);
    let subject = match driver {
        TOKEN => stored
            .map(|stored| stored.subject.clone())
            .filter(|subject| *subject == account_subject(cluster, addon))
            .unwrap_or_default(),
        _ => BaseSubject {
            user: default_user(cluster, addon),
            groups: default_groups(cluster, addon).into(),
        },
    };
    RegistrationConfig {
        r#type: RegistrationType::KubeClient,
        custom_signer: None,
        kube_client: Some(KubeClientConfig {
            driver: driver.to_owned(),
            subject,
        }),
    }
}

fn account_subject(cluster: &str, addon: &str) -> BaseSubject {
    BaseSubject {
        user: account(cluster, addon),
        groups: Vec::new(),
    }
}

/// The subject of the certificate of another signer: that of the template, or the default.
pub(super) fn custom_subject(
    cluster: &str,
    addon: &str,
    custom: &CustomSignerRegistrationConfig,
) -> Subject {
    match &custom.subject {
        None => Subject {
            user: default_user(cluster, addon),
            groups: default_groups(cluster, addon).into(),
            organization_units: Vec::new(),
        },
        Some(TemplateSubject {
            groups,
            organization_unit,
            user,
        }) => Subject {
            user: user.clone(),
            groups: groups.clone(),
            organization_units: organization_unit.clone(),
        },
    }
}

/// The driver of the add-on's agents, as their agent writes it: [`CSR`], [`TOKEN`], or empty.
#[must_use]
pub fn driver(registrations: &[RegistrationConfig]) -> &str {
    kube_client_of(registrations).map_or("", |it| &it.driver)
}

/// The first registration for the hub's API server. As in OCM, further ones do not count.
pub(super) fn kube_client_of(registrations: &[RegistrationConfig]) -> Option<&KubeClientConfig> {
    let mut all = registrations.iter();
    all.find(|it| it.r#type == RegistrationType::KubeClient)?
        .kube_client
        .as_ref()
}

/// Returns true if it is known as whom the agents of a cluster act, so that permissions can be granted: the subject is the one that the hub
/// gave, or the service account of the add-on.
#[must_use]
pub fn subject_is_ready(cluster: &str, addon: &str, registrations: &[RegistrationConfig]) -> bool {
    let Some(client) = kube_client_of(registrations) else {
        return false;
    };
    let subject = &client.subject;
    match client.driver.as_str() {
        TOKEN => *subject == account_subject(cluster, addon),
        _ => subject.user == default_user(cluster, addon),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(template: Value, stored: Value) -> Value {
        let template = serde_json::from_value(template).unwrap();
        let stored: Vec<_> = serde_json::from_value(stored).unwrap();
        json!(registrations("c1", "x", &template, &stored))
    }

    fn default_subject() -> Value {
        json!({
            "user": "system:open-cluster-management:cluster:c1:addon:x:agent:x-agent",
            "groups": [
                "system:open-cluster-management:cluster:c1:addon:x",
                "system:open-cluster-management:addon:x",
            ],
        })
    }

    fn client(driver: &str, subject: Value) -> Value {
        let mut client = json!({"subject": subject});
        if !driver.is_empty() {
            client["driver"] = driver.into();
        }
        if subject == json!({}) {
            client.as_object_mut().unwrap().remove("subject");
        }
        json!([{"type": "kubeClient", "kubeClient": client}])
    }

    #[test]
    fn the_subject_depends_on_the_driver() {
        let template = json!({"registration": [{"type": "KubeClient"}, {"type": "KubeClient"}]});
        let account = json!({"user": "system:serviceaccount:c1:x-agent"});
        let foreign = json!({"user": "system:serviceaccount:c2:x-agent"});
        let with_group =
            json!({"user": "system:serviceaccount:c1:x-agent", "groups": ["system:masters"]});
        for (sentence, stored, expected) in [
            ("nothing stored", json!([]), client("", default_subject())),
            (
                "certificates",
                client("csr", json!({})),
                client("csr", default_subject()),
            ),
            (
                "certificates after tokens",
                client("csr", account.clone()),
                client("csr", default_subject()),
            ),
            (
                "tokens, no subject yet",
                client("token", json!({})),
                client("token", json!({})),
            ),
            (
                "the account",
                client("token", account.clone()),
                client("token", account),
            ),
            (
                "the account of another cluster",
                client("token", foreign),
                client("token", json!({})),
            ),
            (
                "a group beside it",
                client("token", with_group),
                client("token", json!({})),
            ),
            (
                "tokens after certificates",
                client("token", default_subject()),
                client("token", json!({})),
            ),
        ] {
            assert_eq!(of(template.clone(), stored), expected, "{sentence}");
        }
    }

    #[test]
    fn permissions_are_granted_to_known_subjects_only() {
        for (sentence, registrations, expected) in [
            ("nothing", json!([]), false),
            ("the default", client("csr", default_subject()), true),
            (
                "another user",
                client("csr", json!({"user": "system:admin"})),
                false,
            ),
            ("tokens, not yet", client("token", json!({})), false),
            (
                "the account",
                client("token", json!({"user": "system:serviceaccount:c1:x-agent"})),
                true,
            ),
            (
                "another account",
                client("token", json!({"user": "system:serviceaccount:c1:y-agent"})),
                false,
            ),
            (
                "a group beside it",
                client(
                    "token",
                    json!({"user": "system:serviceaccount:c1:x-agent", "groups": ["g"]}),
                ),
                false,
            ),
        ] {
            let registrations: Vec<_> = serde_json::from_value(registrations).unwrap();
            let found = subject_is_ready("c1", "x", &registrations);
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn a_custom_signer_has_the_subject_of_the_template() {
        let signer = |subject: Value| {
            json!({"registration": [{
                "type": "CustomSigner",
                "customSigner": {"signerName": "example.com/s", "signingCA": {"name": "ca"}, "subject": subject},
            }]})
        };
        let expected = |subject: Value| json!([{"type": "customSigner", "customSigner": {"signerName": "example.com/s", "subject": subject}}]);
        let own = json!({"user": "u", "groups": ["g"], "organizationUnit": ["o"]});
        let in_status = json!({"user": "u", "groups": ["g"], "organizationUnits": ["o"]});
        assert_eq!(of(signer(own), json!([])), expected(in_status));
        assert_eq!(
            of(signer(Value::Null), json!([])),
            expected(default_subject())
        );
        let broken = json!({"registration": [{"type": "CustomSigner"}, {"type": "Other"}]});
        assert_eq!(of(broken, json!([])), json!([]));
    }
}
