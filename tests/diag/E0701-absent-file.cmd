check absent.plan
