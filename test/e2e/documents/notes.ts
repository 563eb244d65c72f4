import { expectTexts, type Reader } from './reader.js';

/**
 * Types what Helm prints after an installation (charts/gwk/templates/NOTES.txt), word by word, and opens the link to the
 * console in Chromium.
 *
 * @param use uses the API with the key, while the printed `kubectl port-forward` runs
 */
export async function followNotes(
  reader: Reader,
  printed: string,
  use: (key: string) => Promise<void>,
): Promise<void> {
  const commands = listCommands(printed);
  const stops: (() => Promise<void>)[] = [];
  let [key, last] = ['', ''];
  try {
    for (const command of commands) {
      if (command.includes(' port-forward ')) stops.push(await reader.start(command, 'Forwarding from'));
      else last = await reader.run(command);
      if (command.includes(' key create ')) key = (JSON.parse(last) as { api_key: string }).api_key;
    }
    await use(key);
    const { url } = JSON.parse(last) as { url: string };
    expectTexts(printed, new URL('/console', url).href);
    await openConsole(url);
  } finally {
    for (const stop of stops) await stop();
  }
}

/** Commands of the first notes in the output of Helm, with their here-documents. */
function listCommands(printed: string): string[] {
  const [, notes = ''] = /^NOTES:\n([^]*?)^Documentation: /m.exec(printed) ?? [];
  const commands = [...notes.matchAll(/^ *(kubectl .*<<EOF\n[^]*?^EOF$|kubectl .*)$/gm)].map(
    ([, text]) => text!,
  );
  if (commands.length < 8) throw new Error(`Helm printed only ${commands.length} commands:\n${printed}`);
  return commands;
}

async function openConsole(url: string): Promise<void> {
  // Imported here, because it may download Chromium.
  const { startChromium } = await import('../../console/chromium.js');
  const browser = await startChromium();
  try {
    const page = await browser.newPage({ locale: 'en-US' });
    await page.goto(url);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  } finally {
    await browser.close();
  }
}
