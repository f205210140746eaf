//! Custom objects in several versions, and under a definition that changes: what is read is what the definition knows now.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, hub};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of gadgets, with these fields in the version that is stored and the one that is not.
fn definition(stored: &Value, other: &Value) -> Value {
    let version = |name: &str, storage: bool, fields: &Value| {
        let spec = json!({"type": "object", "properties": fields});
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version("v1alpha1", true, stored), version("v1beta1", false, other)],
        },
    })
}

fn fields() -> (Value, Value) {
    let text = json!({"type": "string"});
    let or = |default: &str| json!({"type": "string", "default": default});
    (
        json!({"old": text, "both": text, "a": or("a")}),
        json!({"new": text, "both": text, "b": or("b")}),
    )
}

async fn create(client: &Client, version: &str, name: &str, spec: Value) -> Value {
    let path = format!("/apis/example.com/{version}/gadgets");
    let gadget = json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Gadget",
        "metadata": {"name": name}, "spec": spec,
    });
    let answer = client.ask("POST", &path, Some(gadget)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    answer.body["spec"].clone()
}

/// What there is of a gadget in a version: the same by its name, in a list, and under a field selector.
async fn read(client: &Client, version: &str, name: &str) -> Value {
    let path = format!("/apis/example.com/{version}/gadgets");
    let one = client.get(&format!("{path}/{name}")).await.body;
    for query in [
        String::new(),
        format!("?fieldSelector=metadata.name={name}"),
    ] {
        let list = client.get(&format!("{path}{query}")).await.body;
        let items = list["items"].as_array().unwrap();
        let of_list = items.iter().find(|item| item["metadata"]["name"] == name);
        assert_eq!(of_list, Some(&one), "{version} {query}");
    }
    assert_eq!(one["apiVersion"], format!("example.com/{version}"));
    one["spec"].clone()
}

#[tokio::test]
async fn a_version_shows_only_the_fields_that_it_and_the_stored_one_know() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let (stored, other) = fields();
    let answer = client
        .ask("POST", DEFINITIONS, Some(definition(&stored, &other)))
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");

    create(
        &client,
        "v1alpha1",
        "x",
        json!({"old": "o", "both": "both"}),
    )
    .await;
    assert_eq!(
        read(&client, "v1alpha1", "x").await,
        json!({"old": "o", "both": "both", "a": "a"})
    );
    assert_eq!(
        read(&client, "v1beta1", "x").await,
        json!({"both": "both"}),
        "defaults are those of the stored version"
    );

    // A write in the other version loses what that does not know, and without a warning.
    let patch = json!({"spec": {"new": "n"}});
    let path = "/apis/example.com/v1beta1/gadgets/x";
    let answer = client.ask("PATCH", path, Some(patch)).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(answer.body["spec"], json!({"both": "both"}));
    assert_eq!(answer.headers.get("warning"), None);
    assert_eq!(
        read(&client, "v1alpha1", "x").await,
        json!({"both": "both", "a": "a"})
    );

    let created = create(&client, "v1beta1", "y", json!({"new": "n", "both": "both"})).await;
    assert_eq!(created, json!({"both": "both"}));
    assert_eq!(
        read(&client, "v1alpha1", "y").await,
        json!({"both": "both", "a": "a"})
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn objects_are_read_by_the_definition_as_it_is_now() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let (stored, other) = fields();
    let answer = client
        .ask("POST", DEFINITIONS, Some(definition(&stored, &other)))
        .await;
    let version = answer.body["metadata"]["resourceVersion"].clone();
    create(&client, "v1alpha1", "x", json!({"both": "both"})).await;

    let mut changed = definition(
        &json!({"a": {"type": "string", "default": "a"}, "later": {"type": "string", "default": "l"}}),
        &other,
    );
    changed["metadata"]["resourceVersion"] = version;
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let answer = client.ask("PUT", &path, Some(changed)).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let now = json!({"a": "a", "later": "l"});
    assert_eq!(read(&client, "v1alpha1", "x").await, now);
    assert_eq!(read(&client, "v1beta1", "x").await, json!({}));

    // Neither a change of metadata nor a status of the definition makes a difference.
    let label = json!({"metadata": {"labels": {"l": "1"}}});
    let answer = client.ask("PATCH", &path, Some(label.clone())).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(read(&client, "v1alpha1", "x").await, now);
    let path = "/apis/example.com/v1alpha1/gadgets/x";
    let answer = client.ask("PATCH", path, Some(label)).await;
    assert_eq!(
        (&answer.body["spec"], &answer.body["metadata"]["generation"]),
        (&now, &json!(1))
    );
    assert_eq!(read(&client, "v1alpha1", "x").await, now);
    hub.shutdown().await;
}

#[tokio::test]
async fn another_stored_version_shows_old_objects_as_its_own() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let (stored, other) = fields();
    let answer = client
        .ask("POST", DEFINITIONS, Some(definition(&stored, &other)))
        .await;
    create(&client, "v1alpha1", "x", json!({"both": "both"})).await;
    let mut changed = answer.body;
    for version in changed["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = (version["name"] == "v1beta1").into();
    }
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let answer = client.ask("PUT", &path, Some(changed)).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(
        answer.body["status"]["storedVersions"],
        json!(["v1alpha1", "v1beta1"])
    );
    let read = read(&client, "v1beta1", "x").await;
    assert_eq!(read["both"], "both");
    hub.shutdown().await;
}
