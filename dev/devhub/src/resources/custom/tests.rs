#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{checks, resources};
use crate::object::Object;
use crate::resources::{Behaviour, Columns};
use crate::status::FieldError;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn definition(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../manifests/crds")
        .join(file);
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn errors(json: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut object = Object::try_from(json.clone()).unwrap();
    super::Definitions.default(&mut object);
    checks::errors(&object.to_value(), old)
}

/// The real server's verdicts; its words are its own.
#[test]
fn definitions_are_refused_where_the_real_server_refuses_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/crds.tsv");
    for line in fs::read_to_string(path).unwrap().lines() {
        let Some((sent, expected)) = line.split_once('\t') else {
            continue;
        };
        let found = errors(&parse(sent), None);
        assert_eq!(found.is_empty(), expected == "OK", "{sent}: {found:?}");
    }
}

#[test]
fn definitions_of_this_repository_are_served() {
    let mut json = definition("cluster.open-cluster-management.io_managedclusters.yaml");
    let typed = serde_json::from_value(json.clone()).unwrap();
    let served = resources(&typed).unwrap();
    let [clusters] = served.as_slice() else {
        panic!("{served:?}");
    };
    assert_eq!(
        format!("{clusters:?}"),
        "managedclusters.cluster.open-cluster-management.io/v1"
    );
    assert_eq!(clusters.kind, "ManagedCluster");
    assert_eq!(
        (clusters.singular.as_str(), clusters.list_kind.as_str()),
        ("managedcluster", "ManagedClusterList")
    );
    assert_eq!(clusters.short_names, ["mcl", "mcls"]);
    assert!(!clusters.namespaced && clusters.custom && clusters.has_status());
    let Columns::Paths(columns) = &clusters.columns else {
        panic!("columns by code");
    };
    assert_eq!(columns[0].0.name, "Hub Accepted");
    assert_eq!(columns[0].1, ".spec.hubAcceptsClient");
    // A version that is not served is checked all the same.
    json["spec"]["versions"][0]["served"] = false.into();
    let typed = serde_json::from_value(json).unwrap();
    assert!(resources(&typed).unwrap().is_empty());
}

#[test]
fn conversion_by_webhook_is_refused() {
    let mut json = definition("cluster.open-cluster-management.io_managedclustersets.yaml");
    json["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
    let found = errors(&json, None);
    let [error] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(error.field, "spec.conversion.strategy");
    assert!(error.detail.starts_with("devhub does not implement"));
}

#[test]
fn what_is_part_of_the_storage_does_not_change() {
    let old = parse(
        r#"{"metadata":{"name":"widgets.test.dev"},"spec":{"group":"test.dev","names":{"plural":"widgets","kind":"Widget"},"scope":"Namespaced"},"status":{"storedVersions":["v1"],"conditions":[{"type":"Established","status":"True"}]}}"#,
    );
    let new = parse(
        r#"{"metadata":{"name":"widgets.test.dev"},"spec":{"group":"test.dev2","names":{"plural":"widgetss","kind":"Widgety"},"scope":"Cluster","versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]},"status":{"storedVersions":["v1","v2"]}}"#,
    );
    let found = errors(&new, Some(&old));
    let fields: Vec<_> = found.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "status.storedVersions[0]",
            "spec.group",
            "spec.names.plural",
            "spec.scope",
            "spec.names.kind",
        ]
    );
}

#[test]
fn names_of_custom_objects_can_be_restricted_and_their_metadata_is_known() {
    let json = parse(
        &fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/widget-crd.json"),
        )
        .unwrap(),
    );
    let served = resources(&serde_json::from_value(json).unwrap()).unwrap();
    let schema = Arc::clone(&served[0].schema);
    let object = |name: &str| {
        json!({"apiVersion": "test.dev/v1", "kind": "Widget", "spec": {"url": "hh"},
            "metadata": {"name": name, "ownerReferences": [{"uid": "x"}, {"uid": "x"}]}})
    };
    assert_eq!(schema.check(&object("abc"), None), []);
    let errors = schema.check(&object("a1"), None);
    assert_eq!(errors[0].field, "metadata.name");
    assert_eq!(
        errors[0].detail,
        "metadata.name in body should match '^[a-z]+$'"
    );
    let finalizers = &schema.properties["metadata"].properties["finalizers"];
    assert_eq!(finalizers.list, crate::resources::schema::ListKind::Set);
}

mod lifecycle {
    use std::time::Duration;

    use berth_certs::issue::Authority;
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::parse;
    use crate::World;
    use crate::admission::Admission;
    use crate::authentication::Authenticator;
    use crate::authorization::Authorizer;
    use crate::object::Object;
    use crate::options::Services;
    use crate::resources::Registry;
    use crate::resources::custom::clean_up;
    use crate::status::ApiError;
    use crate::storage::{Key, Store};
    use crate::user::User;
    use crate::writes::{self, DeleteOptions, FieldValidation, WriteOptions, Writer};

    const GROUP: &str = "apiextensions.k8s.io";
    const DEFINITIONS: &str = "customresourcedefinitions";

    fn world() -> World {
        let now = Timestamp::UNIX_EPOCH;
        let authority = Authority::new("clients", Duration::from_secs(60), now).unwrap();
        World {
            store: Store::new(100).into(),
            registry: Registry::new(),
            authenticator: Authenticator::new(authority, "", &[]).unwrap().into(),
            authorizer: Authorizer::default(),
            admission: Admission::new(Services::new()),
        }
    }

    struct DevHub {
        world: World,
        user: User,
    }

    impl DevHub {
        async fn create(
            &self,
            group: &str,
            name: &str,
            namespace: &str,
            json: Value,
        ) -> Result<Object, ApiError> {
            let resource = self.world.registry.find(group, "v1", name).unwrap();
            let writer = self.writer(&resource, namespace);
            let object = Object::try_from(json).unwrap();
            Ok(writes::create(&writer, "", object, &mut Vec::new())
                .await?
                .object)
        }

        fn writer<'a>(
            &'a self,
            resource: &'a std::sync::Arc<crate::resources::Resource>,
            namespace: &'a str,
        ) -> Writer<'a> {
            Writer {
                world: &self.world,
                user: &self.user,
                resource,
                subresource: "",
                namespace,
                options: WriteOptions {
                    dry_run: false,
                    field_manager: "test".to_owned(),
                    field_validation: FieldValidation::Warn,
                    field_manager_parameter: None,
                    field_validation_parameter: None,
                    force: false,
                    timeout: Duration::from_secs(5),
                },
                now: Timestamp::UNIX_EPOCH,
            }
        }

        fn definition(&self, name: &str) -> (Key, Option<Object>) {
            let resource = self.world.registry.find(GROUP, "v1", DEFINITIONS).unwrap();
            let key = resource.key("", name);
            let stored = self.world.store.get(&key);
            (key, stored.map(|stored| stored.object.clone()))
        }
    }

    fn gadgets(plural: &str, kind: &str) -> Value {
        let text = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"PLURAL.test.dev"},
            "spec":{"group":"test.dev","names":{"plural":"PLURAL","kind":"KIND"},"scope":"Cluster",
            "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
        parse(&text.replace("PLURAL", plural).replace("KIND", kind))
    }

    fn conditions(object: &Object) -> Vec<(String, String, String)> {
        let text = |condition: &Value, name: &str| condition[name].as_str().unwrap().to_owned();
        let list = object
            .at(&["status", "conditions"])
            .unwrap()
            .as_array()
            .unwrap();
        list.iter()
            .map(|of| (text(of, "type"), text(of, "status"), text(of, "reason")))
            .collect()
    }

    fn hub() -> DevHub {
        DevHub {
            world: world(),
            user: User::default(),
        }
    }

    #[tokio::test]
    async fn a_definition_is_served_at_once_and_goes_when_its_objects_are_gone() {
        let hub = hub();
        let made = hub
            .create(GROUP, DEFINITIONS, "", gadgets("gadgets", "Gadget"))
            .await
            .unwrap();
        assert_eq!(
            made.str_at(&["status", "acceptedNames", "listKind"]),
            "GadgetList"
        );
        assert_eq!(made.at(&["status", "storedVersions"]), Some(&json!(["v1"])));
        assert_eq!(made.generation(), 1);
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let expected = [
            row("NamesAccepted", "True", "NoConflicts"),
            row("Established", "True", "InitialNamesAccepted"),
        ];
        assert_eq!(conditions(&made), expected);

        let gadget = |name: &str| json!({"apiVersion": "test.dev/v1", "kind": "Gadget", "metadata": {"name": name}});
        hub.create("test.dev", "gadgets", "", gadget("a"))
            .await
            .unwrap();
        let mut held = gadget("b");
        held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
        hub.create("test.dev", "gadgets", "", held).await.unwrap();

        let definitions = hub.world.registry.find(GROUP, "v1", DEFINITIONS).unwrap();
        let writer = hub.writer(&definitions, "");
        let deleted = writes::delete(
            &writer,
            "gadgets.test.dev",
            &DeleteOptions::default(),
            &mut Vec::new(),
        )
        .await
        .unwrap();
        assert!(matches!(deleted, writes::Deleted::Waits(..)), "{deleted:?}");
        let (key, ending) = hub.definition("gadgets.test.dev");
        let ending = ending.unwrap();
        assert_eq!(
            ending.finalizers(),
            ["customresourcecleanup.apiextensions.k8s.io"]
        );
        assert_eq!(conditions(&ending)[2].0, "Terminating");
        let error = hub
            .create("test.dev", "gadgets", "", gadget("c"))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code.as_u16(), error.reason.as_str()),
            (405, "MethodNotAllowed")
        );
        assert_eq!(
            error.message,
            "create not allowed while custom resource definition is terminating"
        );

        // One object waits for its finalizer.
        assert!(!clean_up(&hub.world, &key, Timestamp::UNIX_EPOCH));
        let gadgets = hub
            .world
            .registry
            .find("test.dev", "v1", "gadgets")
            .unwrap();
        assert!(hub.world.store.get(&gadgets.key("", "a")).is_none());
        let held = hub.world.store.get(&gadgets.key("", "b")).unwrap();
        assert!(held.object.is_deleting());
        let key_of_held = gadgets.key("", "b");
        hub.world
            .store
            .delete(&key_of_held, held.revision, held.object.clone())
            .unwrap();

        assert!(clean_up(&hub.world, &key, Timestamp::UNIX_EPOCH));
        assert!(hub.definition("gadgets.test.dev").1.is_none());
        assert!(
            hub.world
                .registry
                .find("test.dev", "v1", "gadgets")
                .is_none()
        );
        assert!(clean_up(&hub.world, &key, Timestamp::UNIX_EPOCH));
    }

    #[tokio::test]
    async fn a_name_that_is_taken_is_not_accepted() {
        let hub = hub();
        hub.create(GROUP, DEFINITIONS, "", gadgets("gadgets", "Gadget"))
            .await
            .unwrap();
        let made = hub
            .create(GROUP, DEFINITIONS, "", gadgets("gizmos", "Gadget"))
            .await
            .unwrap();
        assert_eq!(
            made.at(&["status", "acceptedNames"]),
            Some(&json!({"kind": "", "plural": "gizmos"}))
        );
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let expected = [
            row("NamesAccepted", "False", "ListKindConflict"),
            row("Established", "False", "NotAccepted"),
        ];
        assert_eq!(conditions(&made), expected);
        assert!(
            hub.world
                .registry
                .find("test.dev", "v1", "gizmos")
                .is_none()
        );
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_definition_is_an_answer() {
        let hub = hub();
        let mut wrong = gadgets("gadgets", "Gadget");
        wrong["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "properties": {"spec": {}}});
        let error = hub.create(GROUP, DEFINITIONS, "", wrong).await.unwrap_err();
        assert_eq!(
            (error.code.as_u16(), error.reason.as_str()),
            (422, "Invalid")
        );
        assert!(
            hub.world
                .registry
                .find("test.dev", "v1", "gadgets")
                .is_none()
        );
    }
}
