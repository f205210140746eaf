//! Schemas of Kubernetes' own types: from k8s-openapi, with what its schemas leave out, which is how lists and objects are
//! merged.

use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{ListKind, Schema, Type, read};

/// What Kubernetes calls the metadata of objects.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const JSON_SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// Types that are anything at all, or one of several things, and whose schemas do not say so.
const ANYTHING: &[&str] = &[
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
];

/// Types that are objects with whatever fields.
const FREE: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
];

/// Types whose objects are replaced as a whole.
const ATOMIC: &str = "\
api.core.v1.ConfigMapKeySelector
api.core.v1.FileKeySelector
api.core.v1.LocalObjectReference
api.core.v1.NodeSelector
api.core.v1.NodeSelectorTerm
api.core.v1.ObjectFieldSelector
api.core.v1.ObjectReference
api.core.v1.ResourceFieldSelector
api.core.v1.SecretKeySelector
api.core.v1.TypedLocalObjectReference
api.rbac.v1.RoleRef
api.rbac.v1.Subject
apimachinery.pkg.apis.meta.v1.LabelSelector
apimachinery.pkg.apis.meta.v1.OwnerReference
";

/// Fields that are replaced as a whole, of types that otherwise are not.
const ATOMIC_FIELDS: &[(&str, &str)] = &[
    ("api.core.v1.PodSpec", "nodeSelector"),
    ("api.core.v1.ServiceSpec", "selector"),
];

/// Lists of type map: a type, its field, the keys, and the key of strategic merge patches (empty: these replace the list).
const MAPS: &str = "\
api.admissionregistration.v1.MutatingWebhook matchConditions name name
api.admissionregistration.v1.MutatingWebhookConfiguration webhooks name name
api.admissionregistration.v1.ValidatingWebhook matchConditions name name
api.admissionregistration.v1.ValidatingWebhookConfiguration webhooks name name
api.apps.v1.DeploymentStatus conditions type type
api.certificates.v1.CertificateSigningRequestStatus conditions type
api.core.v1.Container env name name
api.core.v1.Container ports containerPort,protocol containerPort
api.core.v1.Container volumeDevices devicePath devicePath
api.core.v1.Container volumeMounts mountPath mountPath
api.core.v1.ContainerStatus allocatedResourcesStatus name name
api.core.v1.ContainerStatus volumeMounts mountPath mountPath
api.core.v1.EphemeralContainer env name name
api.core.v1.EphemeralContainer ports containerPort,protocol containerPort
api.core.v1.EphemeralContainer volumeDevices devicePath devicePath
api.core.v1.EphemeralContainer volumeMounts mountPath mountPath
api.core.v1.NamespaceStatus conditions type type
api.core.v1.NodeStatus addresses type type
api.core.v1.NodeStatus conditions type type
api.core.v1.PodSpec containers name name
api.core.v1.PodSpec ephemeralContainers name name
api.core.v1.PodSpec hostAliases ip ip
api.core.v1.PodSpec imagePullSecrets name name
api.core.v1.PodSpec initContainers name name
api.core.v1.PodSpec resourceClaims name name
api.core.v1.PodSpec schedulingGates name name
api.core.v1.PodSpec topologySpreadConstraints topologyKey,whenUnsatisfiable topologyKey
api.core.v1.PodSpec volumes name name
api.core.v1.PodStatus conditions type type
api.core.v1.PodStatus podIPs ip ip
api.core.v1.PodStatus resourceClaimStatuses name name
api.core.v1.ResourceRequirements claims name
api.core.v1.ServiceAccount secrets name name
api.core.v1.ServiceSpec ports port,protocol port
api.core.v1.ServiceStatus conditions type type
api.policy.v1.PodDisruptionBudgetStatus conditions type type
apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus conditions type
apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps x-kubernetes-validations rule rule
apimachinery.pkg.apis.meta.v1.ObjectMeta ownerReferences uid uid
";

/// Lists of type set.
const SETS: &[(&str, &str)] = &[
    ("api.core.v1.ContainerRestartRuleOnExitCodes", "values"),
    ("api.core.v1.NodeSpec", "podCIDRs"),
    ("apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers"),
];

/// Fields with a strategy of strategic merge patches that their list type and merge key do not say.
const STRATEGIES: &[(&str, &str, &str)] = &[
    ("api.apps.v1.DeploymentSpec", "strategy", "retainKeys"),
    ("api.core.v1.NodeSpec", "podCIDRs", "merge"),
    ("api.core.v1.PodSpec", "resourceClaims", "merge,retainKeys"),
    ("api.core.v1.PodSpec", "volumes", "merge,retainKeys"),
    (
        "api.core.v1.PodStatus",
        "resourceClaimStatuses",
        "merge,retainKeys",
    ),
    (
        "api.policy.v1.PodDisruptionBudgetSpec",
        "selector",
        "replace",
    ),
    (
        "apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "finalizers",
        "merge",
    ),
];

/// The metadata of every object.
pub(crate) fn object_meta() -> &'static Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(of::<ObjectMeta>()));
    &SCHEMA
}

/// `apiVersion` and `kind`, as every object has them.
pub(crate) fn type_meta() -> impl Iterator<Item = (&'static str, &'static Schema)> {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(of::<ConfigMap>);
    let fields = ["apiVersion", "kind"].into_iter();
    fields.filter_map(|name| Some((name, SCHEMA.properties.get(name)?)))
}

/// A schema, or (where a type contains itself, and its schema ends) the schema of that type.
pub(super) fn unfolded<'a>(schema: &'a Schema, value: &Value) -> &'a Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(of::<JSONSchemaProps>);
    let holds_schemas = schema.name == JSON_SCHEMA
        || value.is_object()
            && schema.name.starts_with(JSON_SCHEMA)
            && schema.name.len() > JSON_SCHEMA.len();
    if holds_schemas && schema.properties.is_empty() {
        &SCHEMA
    } else {
        schema
    }
}

pub(super) fn of<T: schemars::JsonSchema>() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = generator.subschema_for::<T>();
    let definitions = generator.take_definitions(false);
    let resolver = Resolver {
        definitions: &definitions,
    };
    resolver.resolve(root.as_value(), &mut Vec::new())
}

/// References, followed.
struct Resolver<'a> {
    definitions: &'a Map<String, Value>,
}

impl<'a> Resolver<'a> {
    /// `within` is the chain of types that are being resolved.
    fn resolve(&self, json: &'a Value, within: &mut Vec<&'a str>) -> Schema {
        let reference = json.get("$ref").and_then(Value::as_str);
        let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) else {
            return self.structure(json, within);
        };
        let mut schema = if ANYTHING.contains(&name) || within.contains(&name) {
            Schema {
                r#type: if within.contains(&name) {
                    Type::Object
                } else {
                    Type::Any
                },
                preserve_unknown: true,
                ..Schema::default()
            }
        } else {
            within.push(name);
            let schema = self
                .definitions
                .get(name)
                .map(|json| self.structure(json, within));
            within.pop();
            schema.unwrap_or_default()
        };
        name.clone_into(&mut schema.name);
        schema.preserve_unknown |= FREE.contains(&name);
        merging(&mut schema);
        if let Some(description) = json.get("description").and_then(Value::as_str) {
            schema.type_description = std::mem::take(&mut schema.description);
            description.clone_into(&mut schema.description);
        }
        schema
    }

    fn structure(&self, json: &'a Value, within: &mut Vec<&'a str>) -> Schema {
        let mut shallow = Map::new();
        let mut schema = Schema::default();
        for (name, value) in json.as_object().into_iter().flatten() {
            match name.as_str() {
                "properties" => {
                    let fields = value.as_object().into_iter().flatten();
                    schema.properties = fields
                        .map(|(name, json)| (name.clone(), self.resolve(json, within)))
                        .collect();
                }
                "additionalProperties" if value.is_object() => {
                    schema.additional = Some(Box::new(self.resolve(value, within)));
                }
                "items" => schema.items = Some(Box::new(self.resolve(value, within))),
                // Drafts and titles are no part of it.
                "$schema" | "title" => {}
                _ => {
                    shallow.insert(name.clone(), value.clone());
                }
            }
        }
        let read = read::schema(&Value::Object(shallow));
        Schema {
            properties: schema.properties,
            additional: schema.additional,
            items: schema.items,
            ..read
        }
    }
}

/// Adds how a type and its fields are merged.
fn merging(schema: &mut Schema) {
    let Some(name) = schema.name.strip_prefix("io.k8s.").map(str::to_owned) else {
        return;
    };
    let name = name.as_str();
    schema.atomic |= ATOMIC.lines().any(|line| line == name);
    for (field, child) in &mut schema.properties {
        let is = |of: &str, its: &str| of == name && its == field;
        child.atomic |= ATOMIC_FIELDS.iter().any(|(of, its)| is(of, its));
        if SETS.iter().any(|(of, its)| is(of, its)) {
            child.list = ListKind::Set;
        }
        let mut strategy = "";
        let mut maps = MAPS.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        if let Some(row) = maps.find(|row| is(row[0], row[1])) {
            child.list = ListKind::Map(row[2].split(',').map(str::to_owned).collect());
            if let Some(patch_key) = row.get(3) {
                (*patch_key).clone_into(&mut child.patch_merge_key);
                strategy = "merge";
            }
        }
        // The one list with a merge key that is atomic.
        if is("api.core.v1.PodStatus", "hostIPs") {
            "ip".clone_into(&mut child.patch_merge_key);
            strategy = "merge";
        }
        if let Some((.., other)) = STRATEGIES.iter().find(|(of, its, _)| is(of, its)) {
            strategy = other;
        }
        if !strategy.is_empty() {
            child
                .rest
                .insert("x-kubernetes-patch-strategy".to_owned(), strategy.into());
        }
    }
    defaults(name, schema);
    optional(name, schema);
}

/// k8s-openapi's structures have some fields without which Kubernetes takes them too.
fn optional(name: &str, schema: &mut Schema) {
    const WITH_NAME: [&str; 8] = [
        "ConfigMapEnvSource",
        "ConfigMapKeySelector",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "LocalObjectReference",
        "SecretEnvSource",
        "SecretKeySelector",
        "SecretProjection",
    ];
    let named = name.strip_prefix("api.core.v1.");
    let names_other = named.is_some_and(|name| WITH_NAME.contains(&name));
    let has_metadata = schema
        .properties
        .get("metadata")
        .is_some_and(|metadata| metadata.name == OBJECT_META);
    schema
        .required
        .retain(|field| !(names_other && field == "name" || has_metadata && field == "metadata"));
}

/// Keys of lists that have a value when they are left out.
fn defaults(name: &str, schema: &mut Schema) {
    let has_protocol = matches!(
        name,
        "api.core.v1.ContainerPort" | "api.core.v1.ServicePort"
    );
    if has_protocol && let Some(protocol) = schema.properties.get_mut("protocol") {
        protocol.default = Some("TCP".into());
    }
}
