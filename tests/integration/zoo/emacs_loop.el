;; SPDX-License-Identifier: Apache-2.0
;; Timers in emacs --batch, which waits in pselect() for nothing but time to pass:
;; emacs --batch -l emacs_loop.el MILLISECONDS KIND...; sleep (a nap of Lisp, which still runs
;; timers: no stall), burn, child, idle.
(let* ((duration (/ (string-to-number (pop command-line-args-left)) 1000.0))
       (kinds command-line-args-left)
       (until (+ (float-time) duration))
       (ticks 0)
       (done nil))
  (setq command-line-args-left nil)
  (run-with-timer
   0.02 0.02
   (lambda ()
     (setq ticks (1+ ticks))
     (if (equal (car kinds) "idle")
         (when (>= (float-time) until) (setq done t))
       (when (= 0 (% ticks 20))
         (if (null kinds)
             (setq done t)
           (let ((begin (float-time)) (kind (pop kinds)))
             (cond ((equal kind "burn")
                    (while (< (float-time) (+ begin duration))))
                   ((equal kind "child")
                    (call-process "sleep" nil nil nil (number-to-string duration))))
             (princ (format "injected %s %d ms\n" kind
                            (round (* 1000 (- (float-time) begin)))))))))))
  (princ "started\n")
  (while (not done)
    (sit-for 0.1)))
