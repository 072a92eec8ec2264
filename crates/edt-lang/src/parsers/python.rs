//! Python, read by the parser of ruff, with the errors that the compiler of Python finds in the tree.

use std::cell::RefCell;

use edt_types::RepoPath;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, PythonVersion, Stmt};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError,
};
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::TextRange;

use crate::judgement::Rejection;

/// Reads a module of the newest version. What only older versions reject is no error.
pub(crate) fn python(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    let parsed = ruff_python_parser::parse_unchecked(text, ParseOptions::from(Mode::Module));
    if let Some(error) = parsed.errors().first() {
        let at = error.location.start().to_usize();
        return Err(Rejection { message: error.error.to_string(), at });
    }
    let Some(module) = parsed.syntax().as_module() else { return Ok(()) };
    let mut walk = Walk {
        checker: SemanticSyntaxChecker::new(),
        text,
        scopes: vec![Scope::Module],
        loops: 0,
        found: RefCell::default(),
    };
    walk.visit_body(&module.body);
    let first = walk.found.into_inner().into_iter().min_by_key(|error| error.range.start());
    first.map_or(Ok(()), |error| {
        Err(Rejection { message: error.to_string(), at: error.range.start().to_usize() })
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Module,
    Class,
    Function { is_async: bool },
    Lambda,
    Comprehension,
    Generator,
}

/// A walk over a tree: what is around the node that is visited, and the errors so far.
struct Walk<'t> {
    checker: SemanticSyntaxChecker,
    text: &'t str,
    scopes: Vec<Scope>,
    /// How many loops are around it in its function.
    loops: usize,
    found: RefCell<Vec<SemanticSyntaxError>>,
}

impl Walk<'_> {
    fn checked(&mut self, check: impl FnOnce(&mut SemanticSyntaxChecker, &Self)) {
        let mut checker = std::mem::take(&mut self.checker);
        check(&mut checker, self);
        self.checker = checker;
    }

    fn within(&mut self, scope: Scope, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        visit(self);
        self.scopes.pop();
    }

    fn with_loops(&mut self, loops: usize, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.loops, loops);
        visit(self);
        self.loops = outer;
    }

    fn scope(&self) -> Scope {
        self.scopes.last().copied().unwrap_or(Scope::Module)
    }

    /// The innermost scope that is none of `others`.
    fn scope_outside(&self, others: &[Scope]) -> Scope {
        let mut scopes = self.scopes.iter().rev();
        scopes.find(|scope| !others.contains(scope)).copied().unwrap_or(Scope::Module)
    }
}

impl SemanticSyntaxContext for Walk<'_> {
    fn in_async_context(&self) -> bool {
        let around = self.scope_outside(&[Scope::Comprehension, Scope::Generator]);
        around == Scope::Function { is_async: true }
    }

    fn in_await_allowed_context(&self) -> bool {
        let around = self.scope_outside(&[Scope::Comprehension, Scope::Generator]);
        matches!(around, Scope::Function { .. } | Scope::Lambda)
    }

    fn in_yield_allowed_context(&self) -> bool {
        self.in_function_scope()
    }

    fn in_function_scope(&self) -> bool {
        matches!(self.scope(), Scope::Function { .. } | Scope::Lambda)
    }

    fn in_module_scope(&self) -> bool {
        self.scope() == Scope::Module
    }

    fn in_generator_context(&self) -> bool {
        self.scopes.contains(&Scope::Generator)
    }

    fn in_sync_comprehension(&self) -> bool {
        self.scopes.contains(&Scope::Comprehension)
    }

    fn in_class_body_comprehension(&self) -> bool {
        let around = self.scope_outside(&[Scope::Comprehension, Scope::Generator]);
        around == Scope::Class && around != self.scope()
    }

    fn in_loop_context(&self) -> bool {
        self.loops > 0
    }

    /// Cells of a notebook may wait.
    fn in_notebook(&self) -> bool {
        ["# %%", "# In[", "get_ipython"].iter().any(|sign| self.text.contains(sign))
    }

    fn python_version(&self) -> PythonVersion {
        PythonVersion::latest()
    }

    fn source(&self) -> &str {
        self.text
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        self.found.borrow_mut().push(error);
    }

    // Names are not resolved.
    fn global(&self, _: &str) -> Option<TextRange> {
        None
    }

    fn has_nonlocal_binding(&self, _: &str) -> bool {
        true
    }

    fn is_bound_parameter(&self, _: &str) -> bool {
        false
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        None
    }

    fn future_annotations_or_stub(&self) -> bool {
        false
    }
}

impl<'t> Visitor<'t> for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &'t Stmt) {
        self.checked(|checker, context| checker.visit_stmt(stmt, context));
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                self.visit_parameters(&function.parameters);
                let scope = Scope::Function { is_async: function.is_async };
                self.within(scope, |walk| {
                    walk.with_loops(0, |walk| walk.visit_body(&function.body));
                });
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                class.arguments.iter().for_each(|one| self.visit_arguments(one));
                self.within(Scope::Class, |walk| {
                    walk.with_loops(0, |walk| walk.visit_body(&class.body));
                });
            }
            Stmt::For(one) => {
                self.visit_expr(&one.iter);
                self.visit_expr(&one.target);
                self.with_loops(self.loops + 1, |walk| walk.visit_body(&one.body));
                self.visit_body(&one.orelse);
            }
            Stmt::While(one) => {
                self.visit_expr(&one.test);
                self.with_loops(self.loops + 1, |walk| walk.visit_body(&one.body));
                self.visit_body(&one.orelse);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'t Expr) {
        self.checked(|checker, context| checker.visit_expr(expr, context));
        let scope = match expr {
            Expr::Lambda(_) => Scope::Lambda,
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) => Scope::Comprehension,
            Expr::Generator(_) => Scope::Generator,
            _ => return walk_expr(self, expr),
        };
        self.within(scope, |walk| walk_expr(walk, expr));
    }
}
