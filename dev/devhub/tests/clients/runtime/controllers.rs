//! Controllers, finalizers, events.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::events::{Event as News, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event as Finalizer, finalizer};
use kube::runtime::{Controller, watcher};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::soon;
use crate::desk::Desk;
use crate::widgets;

/// For every ConfigMap that is selected, one that it owns.
async fn reconcile(
    parent: Arc<ConfigMap>,
    api: Arc<Api<ConfigMap>>,
) -> Result<Action, kube::Error> {
    let name = format!("child-of-{}", parent.name_any());
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "ownerReferences": [parent.controller_owner_ref(&()).unwrap()] },
        "data": parent.data,
    });
    let params = PatchParams::apply("tests-controller").force();
    api.patch(&name, &params, &Patch::Apply(child)).await?;
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_controller_keeps_what_it_owns_as_it_should_be() {
    let desk = Desk::new().await;
    desk.ours(&["a"]).await;
    let api = desk.configmaps();
    let config = watcher::Config::default().labels("desk=ours");
    let run = Controller::new(api.clone(), config)
        .owns(api.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(200)),
            Arc::new(api.clone()),
        )
        .for_each(|_| async {});
    let run = tokio::spawn(run);
    let until = async |wanted: Option<&str>| {
        soon(async {
            loop {
                let child = api.get_opt("child-of-a").await.unwrap();
                let value = child.map(|child| child.data.unwrap_or_default().remove("key"));
                if value.is_some_and(|value| value.as_deref() == wanted) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    };
    until(None).await;
    let change = json!({ "data": { "key": "value" } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(change))
        .await
        .unwrap();
    until(Some("value")).await;
    let meddle = json!({ "data": { "key": "other" } });
    api.patch("child-of-a", &PatchParams::default(), &Patch::Merge(meddle))
        .await
        .unwrap();
    until(Some("value")).await;
    api.delete("child-of-a", &DeleteParams::default())
        .await
        .unwrap();
    until(Some("value")).await;
    run.abort();
}

#[tokio::test]
async fn a_finalizer_is_put_on_cleans_up_and_is_taken_off() {
    const NAME: &str = "tests.berth/cleanup";
    let desk = Desk::new().await;
    desk.configmap("one").await;
    let api = desk.configmaps();
    let step = async |wanted: &str| {
        let object = Arc::new(api.get("one").await.unwrap());
        let told = std::sync::Mutex::new("nothing");
        let act = async |event| {
            *told.lock().unwrap() = match event {
                Finalizer::Apply(_) => "apply",
                Finalizer::Cleanup(_) => "cleanup",
            };
            Ok::<_, std::convert::Infallible>(Action::await_change())
        };
        finalizer(&api, NAME, object, act).await.unwrap();
        assert_eq!(*told.lock().unwrap(), wanted);
    };
    // It is put on first, and acts when it is there.
    step("nothing").await;
    assert_eq!(api.get("one").await.unwrap().finalizers(), [NAME]);
    step("apply").await;
    let deleted = api.delete("one", &DeleteParams::default()).await.unwrap();
    let going = deleted.left().unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    step("cleanup").await;
    assert!(api.get_opt("one").await.unwrap().is_none());
}

#[tokio::test]
async fn events_are_recorded_and_those_that_repeat_are_counted() {
    let desk = widgets::desk().await;
    let path = desk.in_group(widgets::GROUP_VERSION, "widgets");
    desk.admin
        .post(&path, &widgets::widget("w"))
        .await
        .unwrap()
        .ok();
    let widget = desk.widgets().get("w").await.unwrap();
    let about = k8s_openapi::api::core::v1::ObjectReference {
        api_version: Some(widgets::GROUP_VERSION.to_owned()),
        kind: Some("Widget".to_owned()),
        name: Some("w".to_owned()),
        namespace: Some(desk.namespace.clone()),
        uid: widget.uid(),
        ..Default::default()
    };
    let reporter = Reporter {
        controller: "tests".to_owned(),
        instance: Some("one".to_owned()),
    };
    let recorder = Recorder::new(desk.admin.client.clone(), reporter);
    let news = News {
        type_: EventType::Warning,
        reason: "Squeaked".to_owned(),
        note: Some("It did.".to_owned()),
        action: "Turning".to_owned(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&news, &about).await.unwrap();
    }
    let events = Api::<Event>::namespaced(desk.admin.client.clone(), &desk.namespace);
    let list = ListParams::default().fields("involvedObject.name=w,reason=Squeaked,type=Warning");
    let [event] = &events.list(&list).await.unwrap().items[..] else {
        panic!("more or less than one")
    };
    assert_eq!(event.message.as_deref(), Some("It did."));
    assert_eq!(event.reporting_component.as_deref(), Some("tests"));
    assert_eq!(event.series.as_ref().unwrap().count, Some(3));
}
