//! Lists, read in pages.
//!
//! The byte bound of a page keeps a response from filling the memory. A page of objects that exceeds the bound is read again
//! with half as many objects: at the size limit of etcd (1.5 MiB an object), a page of [`FEWEST`] fits.

use berth_hub::{Cause, METADATA_LIST};
use kube::Resource;
use kube::core::params::ListParams;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calls::{call, checked, urls};
use super::{HubConnection, Item};
use crate::failure::CommandError;

/// Number of objects on a page.
const PAGE: u32 = 250;
/// Byte bound of a page.
pub(super) const LONGEST_PAGE: usize = 32 << 20;
/// Smallest number of objects on a page.
const FEWEST: u32 = 8;
/// Limit on how often a list starts again after its continue token expired.
const MOST_RESTARTS: usize = 3;

/// Selects objects of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// A label selector.
    pub(crate) labels: Option<String>,
    /// A field selector.
    pub(crate) fields: Option<String>,
}

// === impl Filter ===

impl Filter {
    pub(crate) fn labels(selector: impl Into<String>) -> Self {
        Self {
            labels: Some(selector.into()),
            fields: None,
        }
    }

    fn params(&self) -> ListParams {
        let mut params = ListParams::default();
        params.label_selector.clone_from(&self.labels);
        params.field_selector.clone_from(&self.fields);
        params
    }
}

// === impl HubConnection ===

impl HubConnection {
    /// Returns the objects that match the filter, of one namespace or of all, sorted by namespace and name; and the
    /// resourceVersion of the list.
    pub(crate) async fn list_at<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<(Vec<Item<K>>, String), CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        checked::<K>(namespace, None)?;
        let mut items = Vec::new();
        let mut take = |page: Option<Vec<Value>>| match page {
            Some(page) => items.extend(page.into_iter().map(Item::<K>::of)),
            None => items.clear(),
        };
        let urls = urls::<K>(namespace);
        let version = self.pages(&urls, filter.params(), None, &mut take).await?;
        items.sort_by_cached_key(|item| {
            let meta = item.object.meta();
            (meta.namespace.clone(), meta.name.clone())
        });
        Ok((items, version))
    }

    /// Like [`list_at`](Self::list_at), without the resourceVersion.
    pub(crate) async fn list<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<Vec<Item<K>>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        Ok(self.list_at(namespace, filter).await?.0)
    }

    /// Returns the objects that match the filter, of one namespace or of all, as the hub sent them.
    pub(crate) async fn list_values<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<Vec<Value>, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, None)?;
        self.values(urls::<K>(namespace), filter.params()).await
    }

    /// As [`list_values`](Self::list_values), of a resource by its path, such as `/apis/GROUP/VERSION/RESOURCE`.
    pub(crate) async fn list_values_at(&self, path: String) -> Result<Vec<Value>, CommandError> {
        self.values(kube::core::Request::new(path), ListParams::default())
            .await
    }

    /// Reads all objects of a collection by its path, page by page. `take` gets each object, and `None` if the list starts again, since
    /// its continue token has expired.
    pub(crate) async fn each_at(
        &self,
        path: String,
        take: &mut impl FnMut(Option<Value>),
    ) -> Result<(), CommandError> {
        self.each(path, None, take).await
    }

    /// As [`each_at`](Self::each_at); the hub sends only the metadata of the objects.
    pub(crate) async fn each_metadata_at(
        &self,
        path: String,
        take: &mut impl FnMut(Option<Value>),
    ) -> Result<(), CommandError> {
        self.each(path, Some(METADATA_LIST), take).await
    }

    async fn each(
        &self,
        path: String,
        accept: Option<&'static str>,
        take: &mut impl FnMut(Option<Value>),
    ) -> Result<(), CommandError> {
        let mut pages = |page: Option<Vec<Value>>| match page {
            Some(page) => page.into_iter().for_each(|object| take(Some(object))),
            None => take(None),
        };
        let urls = kube::core::Request::new(path);
        self.pages(&urls, ListParams::default(), accept, &mut pages)
            .await
            .map(drop)
    }

    async fn values(
        &self,
        urls: kube::core::Request,
        params: ListParams,
    ) -> Result<Vec<Value>, CommandError> {
        let mut values = Vec::new();
        let mut take = |page: Option<Vec<Value>>| match page {
            Some(page) => values.extend(page),
            None => values.clear(),
        };
        self.pages(&urls, params, None, &mut take).await?;
        Ok(values)
    }

    /// Returns the names of all objects. The hub sends only their metadata.
    pub(crate) async fn names<K>(
        &self,
        namespace: Option<&str>,
    ) -> Result<Vec<String>, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, None)?;
        let mut names = Vec::new();
        let mut take = |page: Option<Vec<Value>>| match page {
            Some(page) => names.extend(page.iter().filter_map(|item| {
                let name = item["metadata"]["name"].as_str();
                name.map(str::to_owned)
            })),
            None => names.clear(),
        };
        let urls = urls::<K>(namespace);
        self.pages(&urls, ListParams::default(), Some(METADATA_LIST), &mut take)
            .await?;
        Ok(names)
    }

    /// Lists in pages. `take` gets each page before the next one is requested, and `None` if the continue token has expired
    /// and the list starts again. Returns the resourceVersion of the list.
    async fn pages(
        &self,
        urls: &kube::core::Request,
        params: ListParams,
        accept: Option<&'static str>,
        take: &mut impl FnMut(Option<Vec<Value>>),
    ) -> Result<String, CommandError> {
        let mut size = PAGE;
        let mut params = params.limit(size);
        let mut restarts = 0;
        loop {
            let mut page = call(urls.list(&params))?.at_most(self.longest_page);
            if let Some(accept) = accept {
                page = page.accept(accept);
            }
            let page = self.call(page).await;
            if let Err(error) = &page
                && matches!(error.cause(), Cause::TooLarge(_))
                && size > FEWEST
            {
                size = FEWEST.max(size / 2);
                params = params.limit(size);
                continue;
            }
            let page = page.map_err(|error| self.failure(&error));
            let mut page = match page.and_then(|page| self.read(&page)) {
                Err(CommandError::Api(status))
                    if status.code == 410
                        && params.continue_token.is_some()
                        && restarts < MOST_RESTARTS =>
                {
                    restarts += 1;
                    take(None);
                    params.continue_token = None;
                    continue;
                }
                page => page?,
            };
            if let Value::Array(more) = page["items"].take() {
                take(Some(more));
            }
            let metadata = &page["metadata"];
            match metadata["continue"].as_str().filter(|it| !it.is_empty()) {
                Some(token) => params.continue_token = Some(token.to_owned()),
                None => {
                    let version = metadata["resourceVersion"].as_str();
                    return Ok(version.unwrap_or_default().to_owned());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use berth_api::ManagedCluster;
    use berth_hub::HubApi;
    use http::{Request, Response};
    use http_body_util::Full;
    use serde_json::json;

    use super::*;

    /// A hub with this many clusters, each of this many bytes. It records the queries of the lists.
    fn hub(clusters: usize, bytes: usize, asked: &Arc<Mutex<Vec<String>>>) -> HubConnection {
        let asked = Arc::clone(asked);
        let padding = "x".repeat(bytes);
        let service = tower::service_fn(move |request: Request<_>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let pairs: HashMap<_, _> = query
                .split('&')
                .filter_map(|it| it.split_once('='))
                .collect();
            let number = |name: &str| pairs.get(name).map_or(0, |it| it.parse::<usize>().unwrap());
            let from = number("continue");
            let to = clusters.min(from + number("limit"));
            let items: Vec<Value> = (from..to)
                .map(|index| {
                    let metadata =
                        json!({"name": format!("c{index:04}"), "annotations": {"x": padding}});
                    json!({"metadata": metadata, "spec": {}})
                })
                .collect();
            let next = if to < clusters {
                to.to_string()
            } else {
                String::new()
            };
            let list =
                json!({"metadata": {"continue": next, "resourceVersion": "7"}, "items": items});
            asked
                .lock()
                .unwrap()
                .push(query.trim_start_matches('&').to_owned());
            let body = Full::new(list.to_string().into());
            std::future::ready(Response::builder().body(body))
        });
        HubConnection {
            api: HubApi::new(service),
            peer: crate::hub::Peer::Hub,
            wait: Duration::from_secs(30),
            longest_page: 1 << 20,
        }
    }

    #[tokio::test]
    async fn a_page_above_the_byte_bound_is_read_again_with_fewer_objects() {
        let asked = Arc::default();
        let hub = hub(200, 6 << 10, &asked);
        let (items, version) = hub
            .list_at::<ManagedCluster>(None, &Filter::default())
            .await
            .unwrap();
        assert_eq!((items.len(), version.as_str()), (200, "7"));
        let names: Vec<String> = items.iter().map(Item::name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(
            *asked.lock().unwrap(),
            ["limit=250", "limit=125", "limit=125&continue=125"]
        );
    }

    #[tokio::test]
    async fn a_page_that_stays_above_the_byte_bound_is_an_error() {
        let asked = Arc::default();
        let hub = hub(8, 200 << 10, &asked);
        let listed = hub.list::<ManagedCluster>(None, &Filter::default()).await;
        let error = listed.unwrap_err().to_string();
        assert!(error.contains("longer than 1 MiB"), "{error}");
        assert_eq!(asked.lock().unwrap().len(), 6);
    }
}
