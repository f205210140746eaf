//! What suites do to a hub as its admin: a request that the hub refuses ends the test.

use serde_json::Value;

use super::Person;
use crate::{eventually, when};

/// A hub on which a test acts as the admin.
#[expect(
    async_fn_in_trait,
    reason = "the type is known where a test calls it, and with it whether the future is Send"
)]
pub trait AsAdmin {
    /// The admin.
    fn admin(&self) -> &Person;

    /// Creates an object.
    async fn create(&self, collection: &str, object: &Value) -> Value {
        let answer = self.admin().post(collection, object).await.unwrap();
        assert_eq!(answer.code, 201, "{answer:?}");
        answer.body
    }

    /// Changes an object by a merge patch.
    async fn patch(&self, path: &str, patch: Value) -> Value {
        let answer = self.admin().merge(path, &patch).await.unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
        answer.body
    }

    /// Deletes an object.
    async fn delete(&self, path: &str) {
        let answer = self.admin().delete(path).await.unwrap();
        assert!([200, 202].contains(&answer.code), "{answer:?}");
    }

    /// Waits until an object does not exist.
    async fn gone(&self, path: &str) {
        self.admin().gone(path).await;
    }
}

impl Person {
    /// Waits until an object does not exist.
    pub async fn gone(&self, path: &str) {
        eventually(&format!("the end of {path}"), async || {
            when(self.get(path).await.unwrap(), |it| it.code == 404)
        })
        .await;
    }
}
