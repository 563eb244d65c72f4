import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../generated/api';

export type Message = components['schemas']['MessageOut'];

const COLORS: Record<Message['status'], string> = {
  queued: 'blue',
  sending: 'blue',
  sent: 'gray',
  delivered: 'teal',
  read: 'teal',
  failed: 'red',
};
export const MESSAGE_STATUSES = Object.keys(COLORS) as Message['status'][];

export function StatusBadge({ status }: { status: Message['status'] }) {
  const { t } = useTranslation();
  return (
    <Badge color={COLORS[status]} variant="light" tt="none">
      {t(`messages.statuses.${status}`)}
    </Badge>
  );
}
