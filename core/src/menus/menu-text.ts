import type { InteractiveContent } from '../resources/content.js';
import type { InteractiveMode, Rendering } from '../states.js';
import type { MenuOption } from './replies.js';

/**
 * How an interactive message is written (spec: Interactive modes; Rules for sending 4): reply buttons and rows are
 * numbered in the modes that say so, and in mode `text` links, phones and codes are written out.
 */
interface RenderedMenu {
  rendered_as: Rendering;
  /** The whole text in mode `text`; the body of the native message otherwise. */
  text: string;
  options: MenuOption[];
}

export function renderMenu(content: InteractiveContent, mode: InteractiveMode): RenderedMenu {
  const options = menuOptions(content);
  return { rendered_as: chooseRendering(content, mode), text: menuText(content, mode), options };
}

function chooseRendering(content: InteractiveContent, mode: InteractiveMode): Rendering {
  if (mode === 'text') return 'text_menu';
  const shape = content.list ? 'list' : 'buttons';
  return content.format === 'legacy' ? `legacy_${shape}` : `native_flow_${shape}`;
}

/** Every option a contact can choose; numbers count reply buttons and rows only. */
function menuOptions(content: InteractiveContent): MenuOption[] {
  const rows = content.list?.sections.flatMap((section) => section.rows) ?? [];
  const choices = [
    ...(content.buttons ?? []).map((button) => ({
      id: button.id,
      label: button.label,
      counts: button.type === 'reply',
    })),
    ...rows.map((row) => ({ id: row.id, label: row.title, counts: true })),
  ];
  let number = 0;
  return choices.flatMap(({ id, label, counts }) =>
    counts && typeof id === 'string' ? [{ id, label, number: ++number }] : [],
  );
}

function menuText(content: InteractiveContent, mode: InteractiveMode): string {
  if (mode === 'native') return content.body;
  const lines = content.list ? listLines(content) : buttonLines(content, mode);
  const parts = [content.body, lines.join('\n')];
  // In the native forms the footer has a place of its own.
  if (mode === 'text' && content.footer) parts.push(content.footer);
  return parts.filter((part) => part !== '').join('\n\n');
}

function buttonLines(content: InteractiveContent, mode: InteractiveMode): string[] {
  let number = 0;
  return (content.buttons ?? []).flatMap((button) => {
    if (button.type === 'reply') return [`${++number}. ${button.label}`];
    return mode === 'text' ? [`${button.label}: ${button.url ?? button.phone ?? button.code ?? ''}`] : [];
  });
}

function listLines(content: InteractiveContent): string[] {
  let number = 0;
  return (content.list?.sections ?? []).flatMap((section) => [
    ...(section.title ? [`*${section.title}*`] : []),
    ...section.rows.map((row) => `${++number}. ${row.title}${row.description ? `: ${row.description}` : ''}`),
  ]);
}
