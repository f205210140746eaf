use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use serde_json::json;

use super::*;
use crate::store::Secrets;

/// The version of the Secret that the API server has. `Ok(None)`: none. `Err`: it does not answer.
type Server = Arc<Mutex<Result<Option<u32>, u16>>>;

fn store(server: &Server) -> Store {
    let server = server.clone();
    let api = HubApi::new(tower::service_fn(move |_| {
        let (code, body) = match *server.lock().unwrap() {
            Ok(Some(version)) => (
                200,
                json!({
                    "kind": "Secret",
                    "metadata": {"name": "s", "resourceVersion": version.to_string()},
                }),
            ),
            Ok(None) => (
                404,
                json!({
                    "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                    "details": {"kind": "secrets", "name": "s"},
                }),
            ),
            Err(code) => (code, json!({"kind": "Status", "code": code})),
        };
        let response = Response::builder().status(code);
        let response = response.body(Full::<Bytes>::from(body.to_string()));
        std::future::ready(Ok::<_, Infallible>(response.unwrap()))
    }));
    Store::new(Secrets::new(api, None, "n"), "s")
}

/// Versions of the Secret: the agent knows 10, the watch reports `seen`, and the API server has `stored`.
#[tokio::test]
async fn a_secret_of_a_restored_cluster_is_news_although_its_version_is_lower() {
    let (known, none) = (Some(10), None);
    for (sentence, seen, stored, is_news, expected) in [
        ("a later one", Some(11), Err(500), true, Some(11)),
        ("the same", known, Err(500), false, known),
        ("the watch lags", Some(9), Ok(known), false, known),
        ("restored", Some(5), Ok(Some(5)), true, Some(5)),
        ("restored and written", Some(5), Ok(Some(6)), true, Some(6)),
        ("restored, away", Some(5), Err(500), false, known),
        ("a deletion that is late", none, Ok(known), false, known),
        ("deleted", none, Ok(none), true, none),
        ("deleted, away", none, Err(500), false, known),
    ] {
        let server: Server = Arc::new(Mutex::new(Ok(known)));
        let store = store(&server);
        let version = async |version| {
            *server.lock().unwrap() = Ok(version);
            store.secret().await.unwrap()
        };
        let mut exchange = Exchange::new(&store);
        let first = exchange.see_secret(Ok(version(known).await)).await;
        assert_eq!(first, Ok(true));
        let seen = version(seen).await;
        let expected = version(expected).await;
        *server.lock().unwrap() = stored;
        assert_eq!(
            exchange.see_secret(Ok(seen)).await,
            Ok(is_news),
            "{sentence}"
        );
        assert_eq!(exchange.secret, Some(expected), "{sentence}");
    }
}
