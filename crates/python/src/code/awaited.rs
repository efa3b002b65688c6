//! Which calls give something that the code awaits.
//!
//! `ask_user`, `tool` and `wait` block in place, except where the code awaits what they give: there they give an
//! awaitable, so that several can be asked for before the code waits for any. Where that is shows in the code alone,
//! without running it: an operand of `await`, an argument of `gather`, and, backwards from these, what was assigned
//! to such names, put into such collections, or returned by such functions.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, Stmt};

/// Where the names in awaited calls of the engine's functions are.
pub(super) fn awaited_calls(body: &[Stmt]) -> BTreeSet<usize> {
    let mut flows = Flows::default();
    visitor::walk_body(&mut flows, body);
    flows.pass_arguments();
    let mut awaited = Awaited { flows: &flows.flows, names: BTreeSet::new(), calls: BTreeSet::new() };
    for root in &flows.roots {
        awaited.demand(root);
    }
    awaited.calls
}

/// How values move between names.
#[derive(Default)]
struct Flows<'a> {
    /// What is awaited in place.
    roots: Vec<&'a Expr>,
    /// A name, and an expression that is awaited if the name is.
    flows: Vec<(String, &'a Expr)>,
    /// The functions that the visitor is in: their names, or none in async ones, whose `return` gives a value.
    within: Vec<Option<String>>,
    /// Functions, and the names of their parameters.
    functions: Vec<(String, Vec<String>)>,
    /// The functions that are called, and with what.
    calls: Vec<(String, &'a [Expr])>,
}

impl<'a> Flows<'a> {
    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        match (target, value) {
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.elts.len() == values.elts.len() => {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    self.assign(target, value);
                }
            }
            (Expr::Tuple(targets), _) => targets.elts.iter().for_each(|target| self.assign(target, value)),
            (Expr::List(targets), _) => targets.elts.iter().for_each(|target| self.assign(target, value)),
            (Expr::Starred(starred), _) => self.assign(&starred.value, value),
            _ => {
                let value = value.as_lambda_expr().map_or(value, |lambda| &lambda.body);
                self.flows.extend(key(target).map(|name| (name, value)));
            }
        }
    }
}

impl Flows<'_> {
    /// Notes that parameters are what functions are called with.
    fn pass_arguments(&mut self) {
        for (function, parameters) in &self.functions {
            for (_, arguments) in self.calls.iter().filter(|(called, _)| called == function) {
                let passed = parameters.iter().zip(*arguments);
                self.flows.extend(passed.map(|(parameter, argument)| (parameter.clone(), argument)));
            }
        }
    }
}

impl<'a> Visitor<'a> for Flows<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value))
            }
            Stmt::AugAssign(assign) => self.assign(&assign.target, &assign.value),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.assign(&assign.target, value);
                }
            }
            Stmt::For(each) => self.assign(&each.target, &each.iter),
            Stmt::Return(returned) => {
                if let (Some(Some(function)), Some(value)) = (self.within.last(), &returned.value) {
                    self.flows.push((function.clone(), value));
                }
            }
            Stmt::FunctionDef(def) => {
                let parameters = def.parameters.iter().map(|parameter| parameter.name().to_string());
                // A method is called without its first.
                self.functions
                    .push((def.name.to_string(), parameters.filter(|name| name != "self").collect()));
                self.within.push((!def.is_async).then(|| def.name.to_string()));
                visitor::walk_stmt(self, stmt);
                self.within.pop();
                return;
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Await(awaited) => self.roots.push(&awaited.value),
            Expr::Named(named) => self.assign(&named.target, &named.value),
            Expr::Call(call) => {
                self.calls.extend(key(&call.func).map(|function| (function, &*call.arguments.args)));
                match &*call.func {
                    Expr::Name(name) if name.id == "gather" => self.roots.extend(&call.arguments.args),
                    Expr::Attribute(method) => match method.attr.as_str() {
                        "gather" | "run" | "as_completed" | "create_task" | "ensure_future" | "shield"
                        | "wait" | "wait_for" | "run_until_complete" => {
                            self.roots.extend(&call.arguments.args)
                        }
                        "append" | "extend" | "insert" | "add" | "setdefault" | "update" => {
                            if let (Some(name), Some(value)) =
                                (key(&method.value), call.arguments.args.last())
                            {
                                self.flows.push((name, value));
                            }
                        }
                        _ => {}
                    },
                    _ => {}
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.assign(&comprehension.target, &comprehension.iter);
        visitor::walk_comprehension(self, comprehension);
    }
}

/// The name under which what an expression holds is followed: a variable's, an attribute's, a function's.
fn key(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
        Expr::Subscript(subscript) => key(&subscript.value),
        _ => None,
    }
}

struct Awaited<'f, 'a> {
    flows: &'f [(String, &'a Expr)],
    names: BTreeSet<String>,
    calls: BTreeSet<usize>,
}

impl<'a> Awaited<'_, 'a> {
    /// Notes that what an expression gives is awaited.
    fn demand(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => self.demand_name(key(expr)),
            Expr::Starred(starred) => self.demand(&starred.value),
            Expr::Named(named) => self.demand(&named.value),
            Expr::List(list) => list.elts.iter().for_each(|item| self.demand(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.demand(item)),
            Expr::Set(set) => set.elts.iter().for_each(|item| self.demand(item)),
            Expr::Dict(dict) => dict.items.iter().for_each(|item| self.demand(&item.value)),
            Expr::ListComp(comprehension) => self.demand(&comprehension.elt),
            Expr::SetComp(comprehension) => self.demand(&comprehension.elt),
            Expr::Generator(generator) => self.demand(&generator.elt),
            Expr::DictComp(comprehension) => self.demand(&comprehension.value),
            Expr::If(choice) => {
                self.demand(&choice.body);
                self.demand(&choice.orelse);
            }
            Expr::Call(call) => {
                if let Some((start, _)) = super::called_function(expr) {
                    self.calls.insert(start);
                    return;
                }
                match &*call.func {
                    Expr::Name(name) if matches!(name.id.as_str(), "list" | "tuple" | "set" | "reversed") => {
                        call.arguments.args.iter().for_each(|argument| self.demand(argument));
                    }
                    Expr::Attribute(method)
                        if matches!(method.attr.as_str(), "values" | "items" | "get" | "pop" | "copy") =>
                    {
                        self.demand(&method.value);
                    }
                    function => self.demand_name(key(function)),
                }
            }
            _ => {}
        }
    }

    fn demand_name(&mut self, name: Option<String>) {
        let Some(name) = name else { return };
        if !self.names.insert(name.clone()) {
            return;
        }
        let flows = self.flows;
        for (_, value) in flows.iter().filter(|(to, _)| *to == name) {
            self.demand(value);
        }
    }
}
