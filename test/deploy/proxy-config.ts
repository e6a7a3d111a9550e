import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/programs/certificate.js'
import { readSource } from '../support/sources.js'

/** The examples of deploy/proxy, moved to free ports and to a certificate of the test; everything else stays as it is written. */
export interface ProxyPlace {
  folder: string
  /** Where the proxy takes https and http. */
  https: number
  http: number
  /** Where the gateway listens. */
  api: number
}

export function placeCertificate(folder: string): { cert: string; key: string; pem: string } {
  const made = selfSigned(['127.0.0.1'])
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(cert, made.cert)
  writeFileSync(key, made.key)
  return { cert, key, pem: made.cert }
}

/** A whole configuration around the file, which is one of conf.d. */
export function placeNginx({ folder, https, http, api }: ProxyPlace, { cert, key }: { cert: string; key: string }): string {
  const own = exchange(readSource('deploy/proxy/nginx.conf'), [
    [/listen 80;/, `listen 127.0.0.1:${http};`],
    [/ *listen \[::\]:80;\n/, ''],
    [/listen 443 ssl http2;/, `listen 127.0.0.1:${https} ssl http2;`],
    [/ *listen \[::\]:443 ssl http2;\n/, ''],
    [/server_name notifica\.example\.com;/, 'server_name 127.0.0.1;'],
    [/server_name notifica\.example\.com;/, 'server_name 127.0.0.1;'],
    [/\/etc\/letsencrypt\S+fullchain\.pem/, cert],
    [/\/etc\/letsencrypt\S+privkey\.pem/, key],
    [/server 127\.0\.0\.1:8080;/, `server 127.0.0.1:${api};`],
    [/\/var\/log\/nginx\/error\.log/, join(folder, 'error.log')],
    [/\/var\/log\/nginx\/error\.log/, join(folder, 'error.log')],
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${join(folder, name)};`)
  const path = join(folder, 'nginx.conf')
  writeFileSync(
    path,
    `daemon off; pid ${join(folder, 'nginx.pid')}; error_log stderr; events {}\nhttp {\n${temporary.join(' ')}\n${own}}\n`,
  )
  return path
}

export function placeCaddy({ folder, https, api }: ProxyPlace, { cert, key }: { cert: string; key: string }): string {
  const own = exchange(readSource('deploy/proxy/Caddyfile'), [
    [/^\{$/m, '{\n\tadmin off\n\tauto_https disable_redirects'],
    [/^notifica\.example\.com \{/m, `https://127.0.0.1:${https} {\n\ttls ${cert} ${key}`],
    [/reverse_proxy 127\.0\.0\.1:8080/, `reverse_proxy 127.0.0.1:${api}`],
  ])
  const path = join(folder, 'Caddyfile')
  writeFileSync(path, own)
  return path
}

function exchange(text: string, changes: readonly [RegExp, string][]): string {
  let changed = text
  for (const [pattern, value] of changes) {
    if (!pattern.test(changed)) throw new Error(`the example has no ${pattern}`)
    changed = changed.replace(pattern, value)
  }
  return changed
}
