//! Which of the engine's functions code hides behind names of its own.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, ExceptHandler, Expr, Parameter, Stmt};

use super::FUNCTIONS;

/// The functions whose names the code binds anywhere: by assignment, definition, parameter, import or the like.
pub(super) fn functions_bound(body: &[Stmt]) -> Vec<&'static str> {
    let mut bound = Bound(Vec::new());
    visitor::walk_body(&mut bound, body);
    bound.0
}

struct Bound(Vec<&'static str>);

impl Bound {
    fn name(&mut self, name: &str) {
        self.0.extend(FUNCTIONS.into_iter().find(|function| *function == name));
    }
}

impl<'a> Visitor<'a> for Bound {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => self.name(&def.name),
            Stmt::ClassDef(def) => self.name(&def.name),
            Stmt::Global(global) => global.names.iter().for_each(|name| self.name(name)),
            Stmt::Nonlocal(nonlocal) => nonlocal.names.iter().for_each(|name| self.name(name)),
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && !name.ctx.is_load()
        {
            self.name(&name.id);
        }
        if let Expr::Lambda(lambda) = expr
            && let Some(parameters) = &lambda.parameters
        {
            parameters.iter().for_each(|parameter| self.name(parameter.name()));
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.name(&parameter.name);
        visitor::walk_parameter(self, parameter);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.name(alias.asname.as_ref().unwrap_or(&alias.name));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(named) = handler;
        if let Some(name) = &named.name {
            self.name(name);
        }
        visitor::walk_except_handler(self, handler);
    }
}
