//! The objects that let the agents of an add-on ask for tokens: a service account, a role that is about it, and its binding to the agents
//! of the cluster.

use berth_api::{GroupVersionResource, agents, groups, labels};
use serde_json::{Value, json};

/// The kind of such an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A ServiceAccount.
    Account,
    /// A Role.
    Role,
    /// A RoleBinding.
    Binding,
}

// === impl Kind ===

impl Kind {
    /// All kinds, in the order in which the objects are created.
    pub const ALL: [Self; 3] = [Self::Account, Self::Role, Self::Binding];

    /// The resource.
    #[must_use]
    pub fn resource(self) -> GroupVersionResource {
        match self {
            Self::Account => GroupVersionResource::new("", "v1", "serviceaccounts"),
            Self::Role => GroupVersionResource::new(groups::RBAC, "v1", "roles"),
            Self::Binding => GroupVersionResource::new(groups::RBAC, "v1", "rolebindings"),
        }
    }

    /// The name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "ServiceAccount",
            Self::Role => "Role",
            Self::Binding => "RoleBinding",
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Account => "-agent",
            Self::Role | Self::Binding => "-token-role",
        }
    }

    /// The name of the object of an add-on.
    #[must_use]
    pub fn of(self, addon: &str) -> String {
        format!("{addon}{}", self.suffix())
    }

    /// The add-on whose object has this name.
    #[must_use]
    pub fn addon(self, name: &str) -> Option<&str> {
        name.strip_suffix(self.suffix())
    }

    /// The object, as OCM makes it.
    #[must_use]
    pub fn object(self, addon: &str, cluster: &str) -> Value {
        let api_version = match self {
            Self::Account => "v1".to_owned(),
            Self::Role | Self::Binding => format!("{}/v1", groups::RBAC),
        };
        let mut object = json!({
            "apiVersion": api_version,
            "kind": self.name(),
            "metadata": {
                "name": self.of(addon),
                "namespace": cluster,
                "labels": {labels::TOKEN_ADDON: addon, labels::TOKEN_INFRASTRUCTURE: "true"},
            },
        });
        match self {
            Self::Account => {}
            Self::Role => object["rules"] = rules(addon).into_iter().collect(),
            Self::Binding => {
                object["roleRef"] =
                    json!({"apiGroup": groups::RBAC, "kind": "Role", "name": self.of(addon)});
                let names = [agents::PREFIX, AWS_PREFIX].map(|it| format!("{it}{cluster}"));
                object["subjects"] = (names.iter())
                    .map(|it| json!({"apiGroup": groups::RBAC, "kind": "Group", "name": it}))
                    .collect();
            }
        }
        object
    }

    /// Returns whether a stored object says what it should.
    pub(super) fn says(self, stored: &Value, wanted: &Value) -> bool {
        match self {
            Self::Account => true,
            Self::Role => stored["rules"] == wanted["rules"],
            Self::Binding => {
                stored["roleRef"] == wanted["roleRef"]
                    && sorted(&stored["subjects"]) == sorted(&wanted["subjects"])
            }
        }
    }
}

/// Prefix of the group of a cluster's agents with AWS credentials, whose groups must not begin with `system:`.
const AWS_PREFIX: &str = "open-cluster-management:";

/// The second rule is for agents that are connected by OCM's gRPC server, which asks whether they may subscribe to the answers.
pub(crate) fn rules(addon: &str) -> [Value; 2] {
    let resources = ["serviceaccounts/token"];
    [
        json!({"apiGroups": [""], "resources": resources, "resourceNames": [Kind::Account.of(addon)], "verbs": ["create"]}),
        json!({"apiGroups": [""], "resources": resources, "verbs": ["subscribe"]}),
    ]
}

fn sorted(values: &Value) -> Vec<String> {
    let values = values.as_array().into_iter().flatten();
    let mut all: Vec<_> = values.map(Value::to_string).collect();
    all.sort_unstable();
    all
}
