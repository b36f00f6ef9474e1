expand E0702-no-folder.plan -o /dev/null/out.plan
