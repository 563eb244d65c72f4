import type { SendMessage } from '@gwk/core/resources/message';
import type { Rendering } from '@gwk/core/states';

/** Labels of the interactive formats on the public status page. */
export const LABELS: Readonly<Record<Rendering, string>> = {
  native_flow_buttons: 'Botões (native flow)',
  native_flow_list: 'Lista (native flow)',
  legacy_buttons: 'Botões (formato antigo)',
  legacy_list: 'Lista (formato antigo)',
  text_menu: 'Menu em texto',
};

const BODY = 'Verificação automática deste formato.';
const buttons = [{ type: 'reply' as const, id: 'ok', label: 'OK' }];
const list = { button: 'Abrir', sections: [{ title: 'Opções', rows: [{ id: 'ok', title: 'OK' }] }] };

const CONTENTS: Readonly<Record<Rendering, NonNullable<SendMessage['interactive']>>> = {
  native_flow_buttons: { body: BODY, buttons, mode: 'native', format: 'native_flow' },
  native_flow_list: { body: BODY, list, mode: 'native', format: 'native_flow' },
  legacy_buttons: { body: BODY, buttons, mode: 'native', format: 'legacy' },
  legacy_list: { body: BODY, list, mode: 'native', format: 'legacy' },
  text_menu: { body: BODY, buttons, mode: 'text' },
};

/** Builds the message by which the monitor checks a format. */
export function buildCheckMessage(format: Rendering, instanceId: string, to: string): SendMessage {
  return { instance_id: instanceId, to, type: 'interactive', interactive: CONTENTS[format] };
}
