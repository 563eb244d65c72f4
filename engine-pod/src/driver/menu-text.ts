import type { InteractiveContent, PollContent } from '@gwk/core/resources/content';
import type { MenuOption, SentMenu } from '@gwk/core/protocol/engine';
import type { InteractiveMode, Rendering } from '@gwk/core/states';

interface RenderedMenu {
  rendered_as: Rendering;
  /** The whole message in mode `text`, otherwise the body of the native message. */
  text: string;
  menu: SentMenu;
}

/**
 * Renders an interactive message as text. The modes `text` and `native+text` number reply buttons and rows. Mode `text`
 * also writes out links, phone numbers and codes.
 *
 * @param defaultMode for a message that names no mode
 */
export function renderMenu(content: InteractiveContent, defaultMode: InteractiveMode): RenderedMenu {
  const mode = content.mode ?? defaultMode;
  const menu: SentMenu = { kind: 'interactive', mode, options: menuOptions(content), selectable: null };
  return { rendered_as: chooseRendering(content, mode), text: menuText(content, mode), menu };
}

export function buildPollMenu({ options, selectable }: PollContent): SentMenu {
  return {
    kind: 'poll',
    mode: 'native',
    options: options.map(({ id, label }) => ({ id, label, number: null })),
    selectable,
  };
}

function chooseRendering(content: InteractiveContent, mode: InteractiveMode): Rendering {
  if (mode === 'text') return 'text_menu';
  const shape = content.list ? 'list' : 'buttons';
  return content.format === 'legacy' ? `legacy_${shape}` : `native_flow_${shape}`;
}

/** The options that a contact can choose. Only reply buttons and rows are numbered. */
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
  // Native messages have a separate footer.
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
