/** The pages' whole script: everything works without it. It tells of a steered browser, and offers to print. */
export const SCRIPT = `
for (const field of document.querySelectorAll('input[name=guiado]')) field.value = navigator.webdriver ? '1' : '0'
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}
`.trim()
