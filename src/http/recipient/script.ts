/** The script of the pages: it reports an automated browser and offers to print. The pages work without it. */
export const SCRIPT = `
for (const field of document.querySelectorAll('input[name=guiado]')) field.value = navigator.webdriver ? '1' : '0'
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}
`.trim()
