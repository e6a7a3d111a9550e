#!/bin/sh
# Um comando do Carteiro com o usuário e o ambiente do serviço: carteiro queue count
# Instalado como /usr/local/bin/carteiro (docs/instalacao.md).
# --pty ao lado de --pipe: num terminal, Ctrl-C chega ao comando; fora dele, só --pipe vale.
# O systemd trocaria $NOME pelo valor da variável; $$ é um cifrão.
for word do
  shift
  set -- "$@" "$(printf '%s' "$word" | sed 's/\$/$$/g')"
done
exec systemd-run --quiet --pipe --pty --wait --collect --uid=carteiro --gid=carteiro \
  --property=EnvironmentFile=-/etc/carteiro/carteiro.env \
  --setenv=NODE_ENV=production --setenv=CARTEIRO_DATA=/var/lib/carteiro \
  --property=StateDirectory=carteiro --property=StateDirectoryMode=0700 --property=WorkingDirectory=/var/lib/carteiro \
  /opt/carteiro/bin/carteiro "$@"
