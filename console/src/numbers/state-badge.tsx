import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Instance } from './queries';

const COLORS: Record<Instance['state'], string> = {
  pending_pair: 'blue',
  connecting: 'yellow',
  connected: 'teal',
  disconnected: 'orange',
  logged_out: 'red',
  banned: 'red',
};

export const INSTANCE_STATES = Object.keys(COLORS) as Instance['state'][];

export function StateBadge({ state }: { state: Instance['state'] }) {
  const { t } = useTranslation();
  return (
    <Badge color={COLORS[state]} variant="light" tt="none" autoContrast>
      {t(`numbers.states.${state}`)}
    </Badge>
  );
}
