#!/bin/sh
# Cria secrets/ com senhas e chaves novas. Não troca o que já existe: sem a chave mestra antiga, os tokens deixam de valer.
set -eu
cd "$(dirname "$0")"
folder="${1:-secrets}"
if [ -e "$folder" ]; then
  echo "$folder já existe: nada foi mudado." >&2
  exit 1
fi
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
# A pasta é fechada; os arquivos são legíveis porque o usuário do contêiner, 10001, não é o desta máquina.
mkdir -m 0700 "$folder"
owner="$(random)"
app="$(random)"
printf '%s' "$(random)" > "$folder/postgres_password"
printf '%s' "$owner" > "$folder/owner_password"
printf '%s' "$app" > "$folder/app_password"
# Sem TLS: o banco só está na rede interna do Compose, desta máquina.
cat > "$folder/carteiro.env" <<END
DATABASE_URL=postgresql://carteiro:$app@db/carteiro?sslmode=disable
CARTEIRO_MASTER_KEY=$(random)
METRICS_TOKEN=$(random)
END
cat > "$folder/owner.env" <<END
DATABASE_OWNER_URL=postgresql://carteiro_dono:$owner@db/carteiro?sslmode=disable
END
chmod 0644 "$folder"/*
echo "Feito. Guarde uma cópia de $folder/carteiro.env fora desta máquina; as URLs das operadoras, que têm senhas, entram nele."
