import { buildPollMenu } from '@gwk/core/menus/menu-text';
import type { Renderer } from './renderer.js';

export const renderPoll: Renderer = ({ content, secret }) => {
  const poll = content.poll!;
  const creation = {
    name: poll.name,
    options: poll.options.map(({ label }) => ({ optionName: label })),
    selectableOptionsCount: poll.selectable,
  };
  // Apps show version 3 as a single-choice poll and version 1 as a multiple-choice poll.
  const kind = poll.selectable === 1 ? 'pollCreationMessageV3' : 'pollCreationMessage';
  return {
    message: { messageContextInfo: { messageSecret: secret }, [kind]: creation },
    nodes: [{ tag: 'meta', attrs: { polltype: 'creation' } }],
    menu: buildPollMenu(poll),
  };
};
