import { randomBytes } from 'node:crypto';
import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import { renderMenu } from '../../../menu-text.js';
import type { Button, InteractiveContent } from '@gwk/core/resources/content';
import type { Renderer, RenderedMessage } from './renderer.js';

/** Renders buttons and lists as native flow (for current apps), in the legacy form, or as text. */
export const renderInteractive: Renderer = ({ content, mode: instanceMode }) => {
  const interactive = content.interactive!;
  const { rendered_as, text, menu } = renderMenu(interactive, instanceMode);
  if (menu.mode === 'text') return { message: { extendedTextMessage: { text } }, rendered_as, menu };
  const render = FORMS[rendered_as as keyof typeof FORMS];
  return { rendered_as, menu, ...render(interactive, text) };
};

type Form = Omit<RenderedMessage, 'menu'>;

const FORMS = {
  native_flow_buttons: (content, text) =>
    renderNativeFlow(content, text, (content.buttons ?? []).map(toFlowButton)),
  native_flow_list: (content, text) => renderNativeFlow(content, text, [toFlowList(content)]),
  legacy_buttons: renderLegacyButtons,
  legacy_list: renderLegacyList,
} satisfies Record<string, (content: InteractiveContent, text: string) => Form>;

type FlowButton = proto.Message.InteractiveMessage.NativeFlowMessage.INativeFlowButton;

function renderNativeFlow({ footer }: InteractiveContent, text: string, buttons: FlowButton[]): Form {
  return {
    message: {
      messageContextInfo: { deviceListMetadata: {}, deviceListMetadataVersion: 2 },
      interactiveMessage: {
        body: { text },
        ...(footer && { footer: { text: footer } }),
        nativeFlowMessage: { buttons, messageParamsJson: '', messageVersion: 1 },
      },
    },
    nodes: [createNativeFlowNode()],
  };
}

function toFlowButton(button: Button): FlowButton {
  const { label: display_text } = button;
  switch (button.type) {
    case 'reply':
      return createFlowButton('quick_reply', { display_text, id: button.id });
    case 'url':
      return createFlowButton('cta_url', { display_text, url: button.url, merchant_url: button.url });
    case 'call':
      return createFlowButton('cta_call', { display_text, phone_number: button.phone });
    case 'copy':
      return createFlowButton('cta_copy', { display_text, copy_code: button.code });
  }
}

function toFlowList({ list }: InteractiveContent): FlowButton {
  const sections = list!.sections.map(({ title, rows }) => ({
    title,
    rows: rows.map(({ id, title, description }) => ({ id, title, description: description ?? '' })),
  }));
  return createFlowButton('single_select', { title: list!.button, sections });
}

const createFlowButton = (name: string, params: Record<string, unknown>): FlowButton => ({
  name,
  buttonParamsJson: JSON.stringify(params),
});

/** The legacy form only has reply buttons. The other buttons are written below the text. */
function renderLegacyButtons({ buttons, footer }: InteractiveContent, text: string): Form {
  const all = buttons ?? [];
  const written = all
    .filter(({ type }) => type !== 'reply')
    .map(({ label, url, phone, code }) => `${label}: ${url ?? phone ?? code ?? ''}`);
  const replies = all.filter(({ type }) => type === 'reply');
  const contentText = [text, ...(written.length > 0 ? [written.join('\n')] : [])].join('\n\n');
  if (replies.length === 0) {
    const whole = footer ? `${contentText}\n\n${footer}` : contentText;
    return { message: { extendedTextMessage: { text: whole } }, rendered_as: 'text_menu' };
  }
  return {
    message: {
      buttonsMessage: {
        contentText,
        ...(footer && { footerText: footer }),
        headerType: 1,
        buttons: replies.map(({ id, label }) => ({
          buttonId: id,
          buttonText: { displayText: label },
          type: 1,
        })),
      },
    },
    nodes: [createNativeFlowNode()],
  };
}

function renderLegacyList({ list, footer }: InteractiveContent, text: string): Form {
  const sections = list!.sections.map(({ title, rows }) => ({
    title,
    rows: rows.map(({ id, title, description }) => ({ rowId: id, title, description: description ?? '' })),
  }));
  return {
    message: {
      listMessage: {
        description: text,
        buttonText: list!.button,
        ...(footer && { footerText: footer }),
        listType: 1,
        sections,
      },
    },
    nodes: [{ tag: 'biz', attrs: {}, content: [{ tag: 'list', attrs: { v: '2', type: 'product_list' } }] }],
  };
}

/** Without this node the network accepts the message, but no app shows it. */
function createNativeFlowNode(): BinaryNode {
  return {
    tag: 'biz',
    attrs: {
      actual_actors: '2',
      host_storage: '2',
      privacy_mode_ts: String(Math.floor(Date.now() / 1_000)),
    },
    content: [
      {
        tag: 'interactive',
        attrs: { type: 'native_flow', v: '1' },
        content: [{ tag: 'native_flow', attrs: { v: '9', name: 'mixed' } }],
      },
      {
        tag: 'quality_control',
        attrs: { source_type: 'third_party', decision_id: randomBytes(10).toString('hex') },
      },
    ],
  };
}
