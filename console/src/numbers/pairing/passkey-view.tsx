import { Button, Group, List, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../../app/account';
import { ProblemAlert } from '../../ui/problem-alert';
import { readPhone, type Instance } from '../queries';
import type { Pairing, PasskeyCredential } from './use-pairing';

interface PasskeyViewProps {
  instance: Instance;
  passkey: NonNullable<Pairing['passkey']>;
}

/** The phone waits for its passkey. Then both sides compare a code, or the phone needs none. */
export function PasskeyView({ instance, passkey }: PasskeyViewProps) {
  if (passkey.code !== null) return <CodeComparison instance={instance} code={passkey.code} />;
  if (passkey.options === null) return <ElsewhereAnswered passkey={passkey} />;
  // Another request starts again.
  return <PasskeyRequest key={passkey.options.challenge} instance={instance} passkey={passkey} />;
}

function useTime(date: Date): string {
  const { i18n } = useTranslation();
  return date.toLocaleTimeString(i18n.language);
}

function ElsewhereAnswered({ passkey }: Pick<PasskeyViewProps, 'passkey'>) {
  const { t } = useTranslation();
  return <Text role="status">{t('pairing.passkey.elsewhere', { time: useTime(passkey.expiresAt) })}</Text>;
}

/**
 * Only a page of the network can ask for the passkey. The browser extension (`extension/`) reads the request from the attribute,
 * and dispatches its answer at the same element.
 */
function PasskeyRequest({ instance, passkey }: PasskeyViewProps) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const time = useTime(passkey.expiresAt);
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: (credential: PasskeyCredential) => gwk.instances.answerPasskey(instance.id, { credential }),
  });
  const listen = useCallback(
    (shown: HTMLElement | null) => {
      const answer = ({ detail }: CustomEvent<string>) => mutate(JSON.parse(detail) as PasskeyCredential);
      shown?.addEventListener('gwk-passkey', answer as EventListener);
      return () => shown?.removeEventListener('gwk-passkey', answer as EventListener);
    },
    [mutate],
  );
  if (isPending || isSuccess) return <Text role="status">{t('pairing.passkey.answered')}</Text>;
  const request = {
    name: instance.name,
    phone: readPhone(instance),
    expires_at: passkey.expiresAt.toISOString(),
    options: passkey.options,
  };
  return (
    <Stack ref={listen} role="status" data-gwk-passkey={JSON.stringify(request)}>
      <Title order={2} size="h4">
        {t('pairing.passkey.title')}
      </Title>
      <List type="ordered" spacing="xs">
        <List.Item>{t('pairing.passkey.install')}</List.Item>
        <List.Item>{t('pairing.passkey.press')}</List.Item>
        <List.Item>{t('pairing.passkey.check')}</List.Item>
      </List>
      <Text size="sm" c="dimmed">
        {t('pairing.passkey.until', { time })}
      </Text>
      <ProblemAlert error={error} />
    </Stack>
  );
}

function CodeComparison({ instance, code }: { instance: Instance; code: string }) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const compare = useMutation({
    mutationFn: (equal: boolean) => gwk.instances.confirmPasskey(instance.id, { equal }),
  });
  return (
    <Stack align="center" role="status">
      <Text>{t('pairing.passkey.compare')}</Text>
      <Text fz={40} fw={700} ff="monospace" lts={4} data-testid="passkey-code">
        {code}
      </Text>
      <Group>
        <Button loading={compare.isPending} disabled={compare.isSuccess} onClick={() => compare.mutate(true)}>
          {t('pairing.passkey.equal')}
        </Button>
        <Button
          variant="default"
          disabled={compare.isPending || compare.isSuccess}
          onClick={() => compare.mutate(false)}
        >
          {t('pairing.passkey.different')}
        </Button>
      </Group>
      <ProblemAlert error={compare.error} />
    </Stack>
  );
}
