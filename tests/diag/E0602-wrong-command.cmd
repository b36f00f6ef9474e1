lsp
