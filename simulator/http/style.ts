/** Light and dark, from a width of 360 px. Text has a contrast of at least 4.5:1. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #f6f7f5; --card: #ffffff; --ink: #1c2321; --soft: #55605c; --line: #d9dedb;
  --accent: #0f6b5c; --accent-ink: #ffffff; --accent-soft: #e3f1ee;
  --good: #17663a; --good-back: #e2f3e8; --bad: #9c1f2b; --bad-back: #fbe6e7;
  --warn: #7a4b00; --warn-back: #fcefd3; --wait: #475569; --wait-back: #e9edf2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #121614; --card: #1b211f; --ink: #e8edeb; --soft: #a3afab; --line: #323b38;
    --accent: #5fc7b2; --accent-ink: #07231d; --accent-soft: #17332d;
    --good: #7fd8a4; --good-back: #14301f; --bad: #ff9ca4; --bad-back: #3d171b;
    --warn: #f2c46d; --warn-back: #352709; --wait: #b6c2d1; --wait-back: #28303a;
  }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; overflow-wrap: anywhere }
a { color: var(--accent); text-underline-offset: .15em }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px }
code, pre { font: .9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 }
h2, h3 { font-size: 1.1rem; line-height: 1.3; margin: 0 0 .75rem }
.skip { position: absolute; left: -100vw }
.skip:focus { left: 1rem; top: 1rem; z-index: 1; background: var(--card); padding: .5rem 1rem }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }

.top { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 2rem; padding: .6rem max(1rem, calc((100vw - 70rem) / 2)); background: var(--card); border-bottom: 1px solid var(--line) }
.brand { display: flex; align-items: center; gap: .6rem; color: inherit; text-decoration: none; font-weight: 650; white-space: nowrap }
.brand small { font-size: 1em; font-weight: 400; color: var(--soft) }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem; list-style: none; margin: 0 0 0 -.6rem; padding: 0 }
.top nav a { display: block; padding: .45rem .6rem; border-radius: 8px; color: var(--soft); text-decoration: none }
.top nav a:hover { color: var(--ink); background: var(--accent-soft) }
.top nav a[aria-current] { color: var(--accent); font-weight: 600; box-shadow: inset 0 -2px var(--accent); border-radius: 0 }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }

button { font: inherit; padding: .45rem .9rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); cursor: pointer; min-height: 2.5rem; overflow-wrap: normal }
a.button { display: inline-block; padding: .45rem .9rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); text-decoration: none; min-height: 2.5rem }
a.button:hover { border-color: var(--accent); color: var(--accent) }
button.danger { background: var(--bad); border-color: var(--bad); color: var(--card); font-weight: 600 }
button.danger:hover { border-color: var(--bad); color: var(--card); filter: brightness(1.08) }
button:hover { border-color: var(--accent); color: var(--accent) }
button.main, .search button, .reply button { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); font-weight: 600 }
button.main:hover, .search button:hover, .reply button:hover { color: var(--accent-ink); filter: brightness(1.08) }
input, textarea, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: 8px; padding: .45rem .7rem; width: 100%; min-height: 2.5rem }
::placeholder { color: var(--soft); opacity: 1 }

.heading a { flex: none }
.heading { display: flex; align-items: center; justify-content: space-between; gap: 1rem; margin-bottom: 1rem }
.search { display: grid; grid-template-columns: 1fr 1fr 10rem auto; gap: .75rem; align-items: end }
.search label { font-size: .9rem; color: var(--soft) }
.search input, .search select { display: block; margin-top: .2rem; color: var(--ink) }
.count { color: var(--soft); font-size: .9rem; margin: 1rem 0 .5rem }
.groups { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem }
.group { background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden }
.group-top { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .1rem 1.5rem; padding: .7rem 1rem; border-bottom: 1px solid var(--line) }
.group-top h2 { margin: 0; font-size: 1.05rem; min-width: 0 }
.group-top h2 a { color: inherit; text-decoration: none }
.group-top h2 a:hover { color: var(--accent); text-decoration: underline }
.group-id { margin: 0; color: var(--soft); font-size: .85rem }
.messages { list-style: none; margin: 0; padding: 0 }
.messages li + li { border-top: 1px solid var(--line) }
.messages a { display: grid; grid-template: 'channel to line chips time' auto / 6rem minmax(0, 14.5rem) minmax(12rem, 1fr) minmax(0, auto) 9.5rem; gap: .15rem 1rem; align-items: center; padding: .6rem 1rem; color: inherit; text-decoration: none }
.messages a:hover { background: var(--accent-soft) }
.messages a:focus-visible { outline-offset: -3px }
.messages .channel { grid-area: channel; justify-self: start }
.messages .to { grid-area: to; color: var(--ink); white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
.messages .line { grid-area: line; color: var(--soft); white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
.messages time { grid-area: time; color: var(--soft); font-size: .85rem; font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right }
.chips { grid-area: chips; display: flex; flex-wrap: wrap; gap: .3rem; justify-content: flex-end; align-items: center }
.chip { display: inline-block; font-size: .78rem; line-height: 1.5; font-weight: 600; padding: 0 .55em; border-radius: 99px; background: var(--wait-back); color: var(--wait); white-space: nowrap }
.good.chip { background: var(--good-back); color: var(--good) }
.bad.chip { background: var(--bad-back); color: var(--bad) }
.warn.chip { background: var(--warn-back); color: var(--warn) }
.channel.chip { background: var(--accent-soft); color: var(--accent) }
.pager { display: flex; justify-content: space-between; padding: 1rem 0 }
.empty { background: var(--card); border: 1px dashed var(--line); border-radius: 12px; padding: 1.5rem; max-width: 44rem }
.empty > :last-child { margin-bottom: 0 }

.back { margin: 0 0 .5rem }
.facts { margin: 1rem 0 1.5rem; display: grid; gap: .3rem }
.facts div { display: grid; grid-template-columns: 11.5rem 1fr; gap: 0 1rem }
dt { color: var(--soft) }
dd { margin: 0 }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 22rem; gap: 1.5rem; align-items: start }
.columns > * { display: grid; gap: 1rem; min-width: 0 }
section, details, fieldset { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem; margin: 0; min-width: 0 }
section details { border: 0; padding: 0; background: none }
section[aria-label=Mensagem] { padding: 0; overflow: hidden }
section[aria-label=Mensagem] > .note, section[aria-label=Mensagem] > details { padding: .6rem 1rem; margin: 0; border-top: 1px solid var(--line); border-radius: 0 }
iframe { display: block; width: 100%; height: 26rem; min-height: 10rem; border: 0; background: #fff; color-scheme: light; resize: vertical }
summary { cursor: pointer; font-weight: 600 }
details[open] > summary { margin-bottom: .75rem }
.note { color: var(--soft); font-size: .9rem; margin: 0 }
pre { margin: 0; white-space: pre-wrap }
pre.text { padding: 1rem }
pre.source { max-height: 30rem; overflow: auto; background: var(--back); border-radius: 8px; padding: .75rem }
.scroll { overflow-x: auto }
.headers { border-collapse: collapse; width: 100%; font-size: .9rem }
.headers th, .headers td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-top: 1px solid var(--line) }
.headers th { font-weight: 600; white-space: nowrap }
.links, .files { margin: 0; padding: 0; list-style: none; display: grid; gap: .6rem }
.files li { display: grid; gap: .1rem }
.files span { color: var(--soft); font-size: .9rem }
.files code { color: var(--soft); font-size: .75rem }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 }
.actions .buttons { display: grid; grid-template-columns: 1fr 1fr }
.actions button { padding: .45rem .5rem }
.actions button:last-child:nth-child(odd) { grid-column: 1 / -1 }
.reply { display: grid; gap: .4rem; margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line) }
.reply button { justify-self: start }
.reports { list-style: none; margin: 0; padding: 0; display: grid; gap: .9rem }
.reports li { border-left: 3px solid var(--wait); padding-left: .75rem }
.reports li.good { border-color: var(--good) }
.reports li.bad { border-color: var(--bad) }
.reports li.warn { border-color: var(--warn) }
.reports strong, .reports code { display: block }
.reports span, .reports time { color: var(--soft); font-size: .85rem }
.reports code { font-size: .78rem; white-space: pre-line; max-height: 12rem; overflow: auto }

iframe.sheet { height: 52rem; max-height: 85vh; background: #fff }
.talk { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem }
.talk li { max-width: 85%; padding: .55rem .8rem; border-radius: 12px; background: var(--accent-soft); justify-self: start }
.talk li.person { background: var(--wait-back); justify-self: end }
.talk strong { display: block; font-size: .8rem; color: var(--soft) }
.talk span { white-space: pre-line }
audio { display: block; width: 100%; margin-bottom: .6rem }

.lead { max-width: 46rem; margin: .5rem 0 1.25rem }
main > h2, main > h3 { margin-top: 2.5rem; margin-bottom: 0 }
main > h2 + .faults { margin-top: .75rem }
.fates { list-style: none; margin: 0; padding: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden }
.fates li { display: grid; grid-template-columns: 17rem 15rem 1fr; gap: .1rem 1.5rem; padding: .7rem 1rem }
.fates li + li { border-top: 1px solid var(--line) }
.fates strong { font-weight: 600 }
.fates span { color: var(--soft) }
.fates span:nth-child(2) { grid-column: 2 / -1 }
.faults { display: grid; gap: 1.25rem; max-width: 46rem }
legend { font-weight: 600; font-size: 1.1rem; padding: 0 .35rem }
.field { display: grid; grid-template-columns: 1fr 10rem; gap: 0 1rem; align-items: center; padding: .75rem 0 }
.field + .field { border-top: 1px solid var(--line) }
.field p { grid-column: 1; margin: 0; color: var(--soft); font-size: .9rem }
.field label { font-weight: 500 }
.field input[type=number] { grid-column: 2; grid-row: 1 / span 2 }
.switch input { appearance: none; grid-column: 2; grid-row: 1 / span 2; justify-self: end; position: relative; width: 3rem; height: 1.7rem; min-height: 0; border-radius: 99px; background: var(--wait-back); border: 1px solid var(--soft); cursor: pointer; margin: 0; padding: 0 }
.switch input::after { content: ''; position: absolute; top: 50%; left: .2rem; width: 1.15rem; height: 1.15rem; transform: translateY(-50%); border-radius: 50%; background: var(--soft) }
.switch input:checked { background: var(--accent); border-color: var(--accent) }
.switch input:checked::after { left: auto; right: .2rem; background: var(--accent-ink) }
.alert, .saved { border-radius: 8px; padding: .7rem 1rem; margin: 1rem 0; max-width: 46rem; background: var(--bad-back); color: var(--bad) }
.warning { border-radius: 12px; padding: .8rem 1rem; background: var(--warn-back); color: var(--warn) }
.warning p { margin: 0 }
.warning p + p { margin-top: .5rem }
.saved { background: var(--good-back); color: var(--good) }

.chat { padding: 0; overflow: hidden; max-width: 26rem }
.chat-top { display: flex; align-items: center; gap: .75rem; padding: .75rem 1rem; background: var(--accent); color: var(--accent-ink) }
.chat-top div { display: grid; line-height: 1.25 }
.chat-top span { font-size: .85rem }
.chat-face { width: 2.4rem; height: 2.4rem; border-radius: 50%; border: 2px solid currentColor; flex: none }
.chat-talk { padding: 1.25rem 1rem 2rem; background: var(--accent-soft); min-height: 16rem }
.chat-bubble { position: relative; background: var(--card); border: 1px solid var(--line); border-radius: 4px 14px 14px 14px; padding: .7rem .9rem .4rem; max-width: 21rem }
.chat-bubble p { margin: 0 }
.chat-bubble .chat-head { font-weight: 650; margin-bottom: .3rem }
.chat-bubble .chat-text { white-space: pre-line }
.chat-name { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.chat-name span { color: var(--soft) }
.chat-values { margin: .4rem 0; display: grid; gap: .15rem }
.chat-values div { display: grid; grid-template-columns: minmax(2rem, auto) 1fr; gap: .75rem }
.chat-values dt { font-size: .85rem }
.chat-bubble .chat-link { border-top: 1px solid var(--line); margin-top: .5rem; text-align: center }
.chat-link a { display: block; padding: .6rem; font-weight: 600; text-decoration: none }
.chat-bubble .chat-time { color: var(--soft); font-size: .75rem; text-align: right }

@media (max-width: 60rem) {
  .columns { grid-template-columns: minmax(0, 1fr) }
  .fates li { grid-template-columns: 1fr }
  .fates span:nth-child(2) { grid-column: auto }
}
@media (max-width: 40rem) {
  .search { grid-template-columns: 1fr 1fr }
  .messages a { grid-template: 'channel time' 'to to' 'line line' 'chips chips' / auto minmax(0, 1fr) }
  .messages .line { white-space: normal; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2 }
  .search label:nth-child(-n+2) { grid-column: 1 / -1 }
  .chips { justify-content: flex-start }
  .facts div { grid-template-columns: 7rem minmax(0, 1fr) }
  .field { grid-template-columns: 1fr 6.5rem }
  h1 { font-size: 1.4rem }
  .top { padding-bottom: 0 }
  .top nav a { padding: .45rem .5rem; font-size: .95rem }
  nav ul { margin-left: -.5rem }
}
@media (forced-colors: active) {
  .switch input { appearance: auto }
}

.phone { max-width: 24rem; padding: 1rem 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 24px }
.phone-name { margin: 0 0 .9rem; text-align: center; font-weight: 600 }
.bubble { width: fit-content; max-width: 90%; padding: .6rem .9rem; background: var(--accent-soft); border-radius: 4px 18px 18px 18px; white-space: pre-wrap }
.phone-time { margin: .4rem 0 0 .2rem; color: var(--soft); font-size: .85rem }
`
