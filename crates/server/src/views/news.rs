//! News of everything that an owner has.

use entourage_api::{News, TreeNews};
use entourage_engine as engine;

pub(crate) fn news(news: &engine::News) -> News {
    let tree = |tree: &engine::TreeNews| {
        let engine::TreeNews { root, seq, agents } = tree.clone();
        TreeNews { root, seq, agents }
    };
    let trees = news.trees.as_ref().map(|trees| trees.iter().map(tree).collect());
    let server = news.server.iter().map(|changed| match changed {
        engine::ServerNews::Kinds => "kinds".to_owned(),
    });
    let (documents, open_questions) = (news.documents, news.open_questions);
    News { trees, server: server.collect(), documents, open_questions }
}
