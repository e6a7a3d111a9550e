#!/bin/sh
# No primeiro início do banco: o dono das tabelas, e o usuário do programa, que não é dono de nada.
set -eu
psql -v ON_ERROR_STOP=1 -v owner="$(cat /run/secrets/owner_password)" -v app="$(cat /run/secrets/app_password)" \
  --username "$POSTGRES_USER" --dbname postgres <<'END'
create role carteiro_dono login password :'owner';
create role carteiro login password :'app';
create database carteiro owner carteiro_dono;
END
