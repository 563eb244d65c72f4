import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { IconCheck, IconUnlink } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../../app/account';
import { ProblemAlert } from '../../ui/problem-alert';
import { readPhone, useRenewInstance, type Instance } from '../queries';
import type { LinkedPhone } from './use-pairing';

const UNDO_MS = 60_000;

interface ConnectedProps {
  instance: Instance;
  /** The phone that this page has linked; null: it was linked before. */
  linked: LinkedPhone | null;
  restart: () => void;
}

/** Names the linked phone. Another person may have scanned the code, so the person who pairs can unlink it at once. */
export function Connected({ instance, linked, restart }: ConnectedProps) {
  const { t } = useTranslation();
  const { gwk, path } = useAccount();
  const renew = useRenewInstance(instance.id);
  const undo = useMutation({
    mutationFn: () => gwk.instances.logout(instance.id),
    onSuccess: renew,
  });
  const phone = readPhone(linked ?? instance);
  if (undo.isSuccess) return <Undone restart={restart} />;
  return (
    <Paper withBorder p="xl" role="status">
      <Stack align="center" ta="center">
        <IconCheck size={56} color="var(--mantine-color-anchor)" aria-hidden />
        <Title order={2}>{t('pairing.connected')}</Title>
        {phone !== null && (
          <Text fz={28} fw={700} ff="monospace" data-testid="linked-phone">
            {phone}
          </Text>
        )}
        <Text>{t('pairing.connectedHelp', { name: instance.name })}</Text>
        <Group justify="center">
          <Button component={Link} to={path(`numbers/${instance.id}`)}>
            {t('pairing.open')}
          </Button>
          {linked && <UndoButton until={linked.at + UNDO_MS} undo={undo.mutate} isPending={undo.isPending} />}
        </Group>
        <ProblemAlert error={undo.error} />
      </Stack>
    </Paper>
  );
}

interface UndoProps {
  until: number;
  undo: () => void;
  isPending: boolean;
}

function UndoButton({ until, undo, isPending }: UndoProps) {
  const { t } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useInterval(() => setNow(Date.now()), 500, { autoInvoke: true });
  const seconds = Math.ceil((until - now) / 1000);
  if (seconds <= 0 && !isPending) return null;
  return (
    <Button
      variant="default"
      leftSection={<IconUnlink size={16} />}
      loading={isPending}
      onClick={() => undo()}
    >
      {t('pairing.undo', { seconds: Math.max(0, seconds) })}
    </Button>
  );
}

function Undone({ restart }: Pick<ConnectedProps, 'restart'>) {
  const { t } = useTranslation();
  return (
    <Paper withBorder p="xl" role="status">
      <Stack align="center" ta="center">
        <Title order={2}>{t('pairing.undone')}</Title>
        <Text>{t('pairing.undoneHelp')}</Text>
        <Button onClick={restart}>{t('pairing.again')}</Button>
      </Stack>
    </Paper>
  );
}
