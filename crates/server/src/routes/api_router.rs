//! Routes, and descriptions of them that are made only when somebody asks how the API is described: made at each start,
//! they were most of what it allocated.

use axum::{
    Router,
    routing::{MethodFilter, MethodRouter},
};
use utoipa::openapi::HttpMethod;
use utoipa_axum::{
    PathItemExt,
    router::{OpenApiRouter, UtoipaMethodRouter},
};

use crate::state::AppState;

/// Routes with their descriptions.
#[derive(Default)]
pub(crate) struct ApiRouter {
    served: Router<AppState>,
    described: Vec<fn() -> UtoipaMethodRouter<AppState>>,
}

/// The handlers of one path, and what makes their description.
pub(crate) struct DescribedPath {
    pub(crate) path: String,
    pub(crate) handlers: MethodRouter<AppState>,
    pub(crate) describe: fn() -> UtoipaMethodRouter<AppState>,
}

impl ApiRouter {
    /// Creates one without routes.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds the handlers of one path: see [`routes`].
    pub(crate) fn routes(mut self, DescribedPath { path, handlers, describe }: DescribedPath) -> Self {
        self.described.push(describe);
        self.route(&path, handlers)
    }

    /// Adds a route that is not described.
    pub(crate) fn route(self, path: &str, handlers: MethodRouter<AppState>) -> Self {
        Self { served: self.served.route(path, handlers), ..self }
    }

    /// Adds all routes of another one.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.described.extend(other.described);
        Self { served: self.served.merge(other.served), ..self }
    }

    /// Returns the routes.
    pub(crate) fn into_served(self) -> Router<AppState> {
        self.served
    }

    /// Adds the descriptions of the routes to others.
    pub(crate) fn describe(self, all: OpenApiRouter<AppState>) -> OpenApiRouter<AppState> {
        self.described.into_iter().fold(all, |all, describe| all.routes(describe()))
    }
}

/// The methods of a description, as a router has them.
pub(crate) fn filter(methods: &[HttpMethod]) -> MethodFilter {
    let filters = methods.iter().map(PathItemExt::to_method_filter);
    // A description has at least one method.
    filters.reduce(MethodFilter::or).unwrap_or(MethodFilter::GET)
}

/// The handlers of one path that `utoipa::path` describes, as [`ApiRouter::routes`] takes them.
macro_rules! routes {
    ($first:ident $(, $more:ident)* $(,)?) => {
        utoipa_axum::paste! {
            $crate::routes::api_router::DescribedPath {
                path: <[<__path_ $first>] as utoipa::Path>::path(),
                handlers: {
                    let handlers = axum::routing::MethodRouter::new();
                    let methods = <[<__path_ $first>] as utoipa::Path>::methods();
                    let handlers = handlers.on($crate::routes::api_router::filter(&methods), $first);
                    $(
                        let methods = <[<__path_ $more>] as utoipa::Path>::methods();
                        let handlers = handlers.on($crate::routes::api_router::filter(&methods), $more);
                    )*
                    handlers
                },
                describe: || utoipa_axum::routes!($first $(, $more)*),
            }
        }
    };
}

pub(crate) use routes;
