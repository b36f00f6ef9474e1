emit E0901-emit.plan -o out
